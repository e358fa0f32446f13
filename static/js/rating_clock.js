/* Two times, reported every 20 seconds and when the page is left: wall time, while the page is open, and active time,
   while it is looked at: visible, with a sign of life not more than five minutes ago. Four minutes of reading without a
   movement count in full. Each second is reported once: what is on its way is not sent again. */
(function () {
  "use strict";
  const { form, mode, csrfToken } = AccordRating;
  const REPORT = 20000;
  const STILL_READING = 5 * 60 * 1000;
  let wall = 0; // ms not reported yet
  let active = 0;
  let counted = performance.now();
  let lastLife = counted;
  let isVisible = document.visibilityState === "visible";

  /* Counts the time since it was last called. */
  function count() {
    const now = performance.now();
    wall += now - counted;
    if (isVisible) {
      active += Math.max(0, Math.min(now, lastLife + STILL_READING) - counted);
    }
    counted = now;
  }

  function sign() {
    count();
    lastLife = counted;
  }

  function takeReport() {
    count();
    const report = { wall, active };
    wall = active = 0;
    return report;
  }

  function bodyOf(report) {
    return new URLSearchParams({
      wall: (report.wall / 1000).toFixed(1), active: (report.active / 1000).toFixed(1), csrfmiddlewaretoken: csrfToken(),
    });
  }

  async function report() {
    if (!navigator.onLine) {
      return;
    }
    const sent = takeReport();
    try {
      const response = await fetch(form.dataset.time, {
        method: "POST", body: bodyOf(sent), keepalive: true, redirect: "manual", credentials: "same-origin",
      });
      if (response.status < 500) {
        return;
      }
    } catch (error) {
      // It did not arrive: it is reported with the next.
    }
    wall += sent.wall;
    active += sent.active;
  }

  function reportAtOnce() {
    const sent = takeReport();
    if (sent.wall >= 50 && !navigator.sendBeacon(form.dataset.time, bodyOf(sent))) {
      wall += sent.wall;
      active += sent.active;
    }
  }

  if (mode === "rate") {
    ["pointerdown", "pointermove", "keydown", "wheel", "touchstart", "focusin"].forEach((name) =>
      document.addEventListener(name, sign, { passive: true, capture: true }));
    document.addEventListener("scroll", sign, { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => {
      count();
      isVisible = document.visibilityState === "visible";
      lastLife = performance.now();
      if (!isVisible) {
        reportAtOnce();
      }
    });
    window.addEventListener("pagehide", reportAtOnce);
    setInterval(report, REPORT);
  }
})();
