/* The upload form: names the new dataset as its file, and puts its fields away where another dataset is chosen. */
"use strict";

for (const form of document.querySelectorAll("[data-upload]")) {
  const file = form.querySelector("input[type=file]");
  const into = form.querySelector("select[name=dataset]");
  const fields = form.querySelector("[data-new-dataset]");
  const name = form.querySelector("input[name=name]");
  let named = name === null || name.value !== "";

  const show = () => {
    if (into && fields) fields.hidden = into.value !== "";
  };

  name?.addEventListener("input", (event) => {
    if (event.isTrusted) named = name.value !== "";
  });
  file?.addEventListener("change", () => {
    if (named || !file.files.length) return;
    name.value = file.files[0].name.replace(/\.[^.]+$/, "").replace(/_/g, " ").trim();
    name.dispatchEvent(new Event("input"));
  });
  into?.addEventListener("change", show);
  show();
}
