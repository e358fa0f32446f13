/* Each problem of a text gets a button that leads to its line in the editor. */
(function () {
  "use strict";
  const area = document.querySelector(".text-editor textarea");
  if (!area) {
    return;
  }

  function showLine(number) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const height = parseFloat(getComputedStyle(area).lineHeight);
    area.focus();
    area.setSelectionRange(start, start + (lines[number - 1] || "").length);
    area.scrollTop = Math.max(0, (number - 4) * height);
    area.scrollIntoView({ block: "center" });
  }

  document.querySelectorAll("[data-line]").forEach(function (problem) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button--quiet";
    button.textContent = problem.dataset.showLine;
    button.addEventListener("click", () => showLine(Number(problem.dataset.line)));
    problem.append(" ", button);
  });
})();
