// Light, dark, or as the system says. It runs before the page is drawn, so that nothing flashes.
(() => {
  const words = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" };
  const order = ["auto", "light", "dark"];
  const stored = () => {
    try {
      const theme = localStorage.getItem("theme");
      return order.includes(theme) ? theme : "auto";
    } catch {
      return "auto"; // a browser that stores nothing follows the system
    }
  };
  let theme = stored();
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = words[theme];
    button.setAttribute("aria-label", `Theme: ${theme === "auto" ? "system" : theme}`);
  };
  show();
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme")?.addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      try {
        localStorage.setItem("theme", theme);
      } catch {
        // it holds for this page
      }
      show();
    });
  });
})();
