/* A button that copies the text of another element; hidden where there is no script or no clipboard. */
(function () {
  "use strict";
  if (!navigator.clipboard) {
    return;
  }
  document.querySelectorAll("[data-copy]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", async function () {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = button.dataset.copied;
    });
  });
})();
