/* Shows, in the empty field of a short name, the one that will be made from the name: as apps/common/slugs.py does. */
(function () {
  "use strict";
  const SPELLED_OUT = {
    "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "oe", "å": "aa", "þ": "th", "ð": "d",
    "đ": "d", "ł": "l", "ı": "i",
  };
  document.querySelectorAll("[data-slug-of]").forEach(function (field) {
    const source = document.getElementById(field.dataset.slugOf);
    function show() {
      field.placeholder = source.value
        .normalize("NFC")
        .toLowerCase()
        .replace(/[^\x00-\x7f]/g, (letter) => SPELLED_OUT[letter] || letter)
        .normalize("NFKD")
        .replace(/[^\x00-\x7f]/g, "")
        .toLowerCase()
        .replace(/[^a-z0-9_\s-]/g, "")
        .replace(/[-\s]+/g, "-")
        .replace(/^[-_]+|[-_]+$/g, "");
    }
    source.addEventListener("input", show);
    show();
  });
})();
