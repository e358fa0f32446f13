/* A button that copies the text of another element; hidden where there is no script or no clipboard. */
(function () {
  "use strict";
  if (!navigator.clipboard) {
    return;
  }
  function prepare(part) {
    part.querySelectorAll("[data-copy][hidden]").forEach(function (button) {
      button.hidden = false;
      button.addEventListener("click", async function () {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
        button.textContent = button.dataset.copied;
      });
    });
  }
  prepare(document);
  // What htmx puts on the page later.
  document.addEventListener("htmx:load", function (event) {
    prepare(event.detail.elt);
  });
})();
