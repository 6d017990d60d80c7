// Light and dark: the system's choice until the reader makes one.

const Theme = {
  current: () => document.documentElement.dataset.theme,

  start(onChange) {
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const button = document.getElementById("theme-switch");
    let chosen = null;
    try {
      chosen = window.localStorage.getItem("parsnets-theme");
    } catch (error) {
      // Pages opened from a file may have no storage; the choice then lasts as long as the page.
    }
    const apply = () => {
      const theme = chosen || (system.matches ? "dark" : "light");
      document.documentElement.dataset.theme = theme;
      button.setAttribute("aria-pressed", String(theme === "dark"));
      onChange();
    };
    button.addEventListener("click", () => {
      chosen = Theme.current() === "dark" ? "light" : "dark";
      try {
        window.localStorage.setItem("parsnets-theme", chosen);
      } catch (error) {
        // As above.
      }
      apply();
    });
    system.addEventListener("change", apply);
    apply();
  },

  // Runs `work` with the light colours, as downloads and paper want them.
  withLight(work) {
    const root = document.documentElement;
    const before = root.dataset.theme;
    root.dataset.theme = "light";
    try {
      return work();
    } finally {
      root.dataset.theme = before;
    }
  },

  color: (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
};
