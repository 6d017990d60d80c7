// Names as the page shows them. Requests, commands and storage have them as they are in the model.

const UNKNOWN = "unknown";

// Letters that are written from right to left, and the marks that turn the direction of what follows.
const DIRECTIONAL = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff\ud802\ud803\ud83a\ud83b]/;

// The text as a part of a sentence, whose direction it cannot change.
function isolated(text) {
  return DIRECTIONAL.test(text) ? `\u2068${text.replace(/[\u2066-\u2069]/g, "")}\u2069` : text;
}

function spaced(name) {
  return name.replace(/_+/g, " ").trim() || name;
}

// The name of an attribute as words.
function words(name) {
  return isolated(spaced(name));
}

const Names = {
  shown: new Map(),

  // Names of data sets such as `055.Evening_Grosbeak` become words where no other class would have the same.
  start(names) {
    const ways = [(name) => spaced(name.replace(/^\d+\.(?=\D)/, "")), spaced].map((way) => {
      const uses = new Map();
      for (const name of names) uses.set(way(name), (uses.get(way(name)) || 0) + 1);
      return (name) => (uses.get(way(name)) === 1 ? way(name) : null);
    });
    Names.shown = new Map(names.map((name) => [name, ways[0](name) || ways[1](name) || name]));
  },

  // As text of its own, such as that to search in.
  plain: (name) => Names.shown.get(name) || name,

  of: (name) => isolated(Names.plain(name)),

  // The name of the model where the page shows another one.
  title: (name) => (Names.plain(name) === name ? null : name),
};
