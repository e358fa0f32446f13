/* Leads to what is to be mended: the summary at the top of a form that was sent back. */
"use strict";

document.querySelector("[data-errors]")?.focus();
