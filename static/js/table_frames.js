// A table wider than its frame says so, and fades at the edge behind which it goes on.
// In the page: <p class="goes-on" hidden> right before the <div class="table-frame">.
(() => {
  const frames = () => document.querySelectorAll(".goes-on + .table-frame");

  const look = (frame) => {
    const room = frame.scrollWidth - frame.clientWidth;
    frame.previousElementSibling.hidden = room <= 1;
    frame.classList.toggle("table-frame--goes-on", room - frame.scrollLeft > 1);
  };

  const watched = new ResizeObserver((entries) => entries.forEach((entry) => look(entry.target)));

  const watch = () => {
    watched.disconnect();
    frames().forEach((frame) => {
      watched.observe(frame);
      frame.addEventListener("scroll", () => look(frame), { passive: true });
    });
  };

  document.addEventListener("DOMContentLoaded", watch);
  document.addEventListener("htmx:afterSettle", watch);
})();
