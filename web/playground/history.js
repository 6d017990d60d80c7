// The browser's Back button closes the editor. An editor that is closed by other means leaves its entry in the history:
// the next editor takes it, and Back skips it.

const History = {
  inside: false,  // whether the current entry is one of an editor, open or closed

  // onBack() closes the editor and says whether there was one; onForward(id) opens it again.
  start({ onBack, onForward }) {
    History.inside = Boolean(window.history.state && "editor" in window.history.state);
    if (History.inside) History.closed();
    window.addEventListener("popstate", ({ state }) => {
      if (window.location.hash) return;  // a token, which loads the page anew
      const before = History.inside;
      History.inside = Boolean(state && "editor" in state);
      if (History.inside) onForward(state.editor);
      else if (!onBack() && before) window.history.back();
    });
  },

  opened(id) {
    if (History.inside) window.history.replaceState({ editor: id }, "");
    else window.history.pushState({ editor: id }, "");
    History.inside = true;
  },

  closed() {
    if (History.inside) window.history.replaceState({ editor: null }, "");
  },
};
