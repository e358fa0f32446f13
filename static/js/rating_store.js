/* What is not saved yet, kept in the window's own storage so that a reload or a crash loses nothing: for each scale the
   answers still to be sent, in order, and the texts that wait for an answer. Keyed by assignment and person. */
AccordRating.store = (function () {
  "use strict";
  const { form } = AccordRating;
  const KEY = form.dataset.key ? `accord-rating-${form.dataset.key}` : null;

  /* { pk: { queue: [{ value, comment, evidence, basedOn }], draft: { comment, evidence } or null } } */
  function read() {
    try {
      return JSON.parse((KEY && sessionStorage.getItem(KEY)) || "{}");
    } catch (error) {
      return {};
    }
  }

  function write(pk, record) {
    if (!KEY) {
      return;
    }
    const all = read();
    if (record && (record.queue.length || record.draft)) {
      all[pk] = record;
    } else {
      delete all[pk];
    }
    try {
      if (Object.keys(all).length) {
        sessionStorage.setItem(KEY, JSON.stringify(all));
      } else {
        sessionStorage.removeItem(KEY);
      }
    } catch (error) {
      // Storage may be full or forbidden: the page itself still holds everything.
    }
  }

  return { read, write };
})();
