/* Enter in a field with a button of its own presses that one, and not the first of the form. */
"use strict";

document.addEventListener("keydown", function (event) {
  const button = document.getElementById(event.target.dataset?.enterPresses);
  if (button && event.key === "Enter" && !event.isComposing) {
    event.preventDefault();
    button.click();
  }
});
