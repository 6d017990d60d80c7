// The classes of the bank: hide, redescribe, edit, delete, export.

class ClassList {
  constructor(page) {
    this.page = page;
    this.node = document.getElementById("class-list");
    this.query = "";
    this.rows = element("ul", { id: "class-rows", class: "class-rows scrolls" });
    this.exported = element("div", { class: "exported", "aria-live": "polite" });
    this.search = searchControl("Find", (query) => {
      this.query = query;
      this.update();
    });
    this.node.append(
      element("div", { class: "panel-head" }, element("h2", { id: "classes-heading" }, "Classes"),
        element("button", { type: "button", id: "new-class", class: "primary", onclick: () => page.edit(page.bank.add("", NOTHING), "new-class") }, "New class")),
      element("p", { class: "note guide" }, "Define a class the model was never trained on: choose a similar class, and move the sliders of the "
        + "attributes that differ. Predictions update as you move them. You can also redescribe an unseen class. "
        + `Reloading the page clears ${wordList([page.model.photos && "your photos", Suggestions.offered(page) && "your labels", "the undo history"].filter(Boolean))}.`),
      this.page.bank.classes.length > 15 ? this.search : "",
      this.rows,
      element("div", { class: "buttons", role: "group", "aria-label": "Save" },
        element("button", { type: "button", id: "export", onclick: () => this.save() }, "Export"),
        page.model.device_banks ? element("button", { type: "button", id: "device-bank", title: "Your edits, for a device with the exported model",
          onclick: () => this.saveForDevice() }, "Device bank") : ""),
      this.exported);
  }

  update() {
    const { bank } = this.page;
    const held = this.rows.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const rows = [
      ...bank.state.own.map((one) => ({ name: one.name || "unnamed", one, own: true, problem: bank.problem(one) })),
      ...unseenFirst(bank.classes).map((one) => ({ ...one, own: false })),
    ].filter((row) => `${row.name} ${Names.plain(row.name)}`.toLowerCase().includes(this.query));
    this.rows.replaceChildren(...rows.map((row) => (row.own ? this.ownRow(row) : this.modelRow(row))));
    const again = held && [...this.rows.querySelectorAll("button")].find((button) => button.dataset.action === held);
    if (again) again.focus();
  }

  action(text, name, work, disabled = false) {
    return element("button", { type: "button", class: "small", "aria-label": `${text} ${Names.of(name)}`, "data-action": `${text === "Show" ? "Hide" : text} ${name}`,
      disabled, onclick: work }, text);
  }

  ownRow({ name, one, problem }) {
    const { page } = this;
    return element("li", { class: "own", "data-id": one.id }, classTag(name, false, true), element("span", { class: "actions" },
      this.action("Edit", name, () => page.edit(one.id)), this.action("Delete", name, () => {
        page.bank.remove(one.id);
        page.announce(`${Names.of(name)} is deleted.`);
        document.getElementById("new-class").focus();
      })),
    element("p", { class: "note" }, problem || page.takes(name)));
  }

  modelRow({ name, seen }) {
    const { page } = this;
    const { bank } = page;
    const hidden = bank.isHidden(name);
    const taken = page.taken(name);
    return element("li", { class: hidden ? "hidden-class" : null }, classTag(name, seen, false),
      element("span", { class: "note taken" }, hidden ? "hidden" : taken === null ? "" : `${taken} assigned`),
      element("span", { class: "actions" },
        hidden || seen ? null : this.action("Redescribe", name, () => page.edit(bank.redescribe(name, NOTHING)), !bank.canHide),
        this.action(hidden ? "Show" : "Hide", name, () => {
          bank.hide(name, !hidden);
          page.announce(`${Names.of(name)} is ${hidden ? "shown" : "hidden"}.`);
        }, !hidden && !bank.canHide)));
  }

  // Commands that no longer fit the classes.
  forgetExport() {
    this.exported.replaceChildren();
  }

  // Asks for the edited bank and saves it; false: it cannot be had, and the page says why.
  async download(path, file) {
    try {
      const { add = [], remove = [] } = this.page.bank.request() || {};
      const blob = await (await Server.call(path, { body: { bank: { add, remove } } })).blob();
      const link = element("a", { href: URL.createObjectURL(blob), download: file });
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } catch (error) {
      this.page.problem(error, "export");
      return false;
    }
    this.page.solved("export");
    return true;
  }

  // `missing`: classes that the file does not have, and why: [name, sentence].
  showCommands(text, commands, missing) {
    this.exported.replaceChildren(element("p", { class: "note" }, text),
      commands.length ? element("pre", { tabindex: "0", "aria-label": "Commands" }, commands.join("\n")) : "",
      ...missing.map(([name, why]) => element("p", { class: "warning" }, `Not exported: ${Names.of(name)}. ${why}`)));
  }

  // Classes of one's own that cannot be used yet, and what files of descriptions do not hold.
  unusable() {
    const { bank } = this.page;
    const labels = bank.examples().length ? [["your labels", "parsnets classes teach adds examples to a model file."]] : [];
    return [...bank.state.own.filter((one) => bank.problem(one)).map((one) => [one.name || "unnamed", bank.problem(one)]), ...labels];
  }

  async save() {
    const { bank, model } = this.page;
    const request = bank.request();
    if (!await this.download("/v1/bank", "classes.csv")) return;
    const list = (names) => names.map((name) => (/[",]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name)).join(",");
    const command = (verb, names) => `parsnets classes ${verb} --model ${shell(model.name)}`
      + `${verb === "add" ? " --attributes classes.csv" : ""} --classes ${shell(list(names))}`;
    const commands = [["remove", request ? request.remove : []], ["add", request ? request.add.map((one) => one.class) : []]]
      .filter(([, names]) => names.length).map(([verb, names]) => command(verb, names));
    const bare = bank.classes.filter(({ name }) => bank.isBare(name) && !bank.isHidden(name));
    this.showCommands(commands.length ? "Saved classes.csv. To apply your edits to the model file:"
      : "Saved classes.csv: the classes of the model with their attributes.", commands,
    [...this.unusable(), ...bare.map(({ name }) => [name, "It is known by examples alone."])]);
  }

  async saveForDevice() {
    if (!await this.download("/v1/bank?format=device", "classes.bank")) return;
    const { name } = this.page.model;
    this.showCommands("Saved classes.bank. On the device, pnrt_bank_load adds it to the file that this command writes:",
      [`parsnets export --model ${shell(name)} --out ${shell(`${name.replace(/\.safetensors$/, "")}.pnrt`)}`], this.unusable());
  }
}

// A word as a shell reads it.
function shell(word) {
  return /^[\w.,-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}
