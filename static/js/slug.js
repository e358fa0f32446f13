/* Shows, in the empty field of a short name, the one that will be made from the name. */
(function () {
  "use strict";
  document.querySelectorAll("[data-slug-of]").forEach(function (field) {
    const source = document.getElementById(field.dataset.slugOf);
    function show() {
      field.placeholder = source.value
        .normalize("NFKD")
        .replace(/[^\x00-\x7f]/g, "")
        .toLowerCase()
        .replace(/[^a-z0-9_\s-]/g, "")
        .trim()
        .replace(/[-\s]+/g, "-");
    }
    source.addEventListener("input", show);
    show();
  });
})();
