/* A number that belongs to one of several choices: typing it makes the choice, another choice clears it. */
(function () {
  "use strict";
  document.querySelectorAll("[data-number]").forEach(function (choice) {
    const number = document.getElementById(choice.dataset.number);
    const needed = choice.dataset.withNumber;
    if (!number) {
      return;
    }
    choice.addEventListener("change", function () {
      if (choice.value !== needed) {
        number.value = "";
      } else if (number.value === "") {
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
})();
