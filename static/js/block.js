/* A number that belongs to one of several choices is shown with that choice alone: another choice clears and hides it.
   Without this script it stands there all the time. */
(function () {
  "use strict";
  function show() {
    document.querySelectorAll("[data-only-with]").forEach(function (part) {
      const choice = part.closest("form").elements[part.dataset.onlyWith];
      // What was typed stays in sight: it may be what is at fault.
      part.hidden = choice.value !== part.dataset.value && part.querySelector("input").value === "";
    });
  }
  document.querySelectorAll("[data-number]").forEach(function (choice) {
    const number = document.getElementById(choice.dataset.number);
    const needed = choice.dataset.withNumber;
    if (!number) {
      return;
    }
    choice.addEventListener("change", function () {
      if (choice.value !== needed) {
        number.value = "";
      }
      show();
      if (choice.value === needed && number.value === "") {
        number.focus();
      }
    });
    number.addEventListener("input", function () {
      if (number.value === "") {
        return;
      }
      if (choice.type === "radio") {
        choice.checked = choice.value === needed || choice.checked;
      } else {
        choice.value = needed;
      }
    });
  });
  show();
})();
