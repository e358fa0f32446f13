/* The switch between the system's colours, light and dark. Loaded in <head> without `defer`, so that the page is never
   drawn in the wrong colours first. Without script the system's choice holds and the switch stays hidden. */
(function () {
  "use strict";
  const KEY = "accord-theme";
  const ORDER = ["system", "light", "dark"];
  const root = document.documentElement;

  function stored() {
    try {
      const value = localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : "system";
    } catch (error) {
      return "system"; // storage may be forbidden
    }
  }

  function apply(theme) {
    if (theme === "system") {
      root.removeAttribute("data-theme");
    } else {
      root.setAttribute("data-theme", theme);
    }
  }

  function remember(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch (error) {
      // The choice then holds for this page only.
    }
  }

  apply(stored());

  document.addEventListener("DOMContentLoaded", function () {
    const button = document.querySelector("[data-theme-switch]");
    if (!button) {
      return;
    }
    let theme = stored();
    const show = () => {
      button.textContent = button.dataset[theme];
    };
    show();
    button.hidden = false;
    button.addEventListener("click", function () {
      theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
      apply(theme);
      remember(theme);
      show();
    });
  });
})();
