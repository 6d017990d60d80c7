// The pictures of samples: cut from the sheet of the data set, or one file each, fetched when they come into view.

class Pictures {
  constructor({ sheet, pictures }) {
    this.sheet = sheet;
    this.single = Boolean(pictures);
    this.urls = new Map();
    this.watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        this.fetch(Number(target.dataset.sample)).then((url) => {
          this.watcher.unobserve(target);
          target.style.backgroundImage = `url("${url}")`;
        }, () => {});
      }
    }, { rootMargin: "200px" });
  }

  // Whether samples have pictures at all.
  get any() {
    return this.single || Boolean(this.sheet);
  }

  // Resolves when the sheet is there; pictures are blank until then.
  async load() {
    if (!this.sheet) return;
    const url = URL.createObjectURL(await (await Server.call("/v1/samples/sheet")).blob());
    const image = new Image();
    image.src = url;
    await image.decode();
    this.sheet = { ...this.sheet, url, rows: Math.floor(image.naturalHeight / this.sheet.size) };
  }

  // A square that shows the picture of `item`, or its name where there is none.
  node(item, large = false) {
    const node = element("span", { class: "picture", "aria-hidden": "true" });
    if (item.url) node.style.backgroundImage = `url("${item.url}")`;
    else if (this.single && (large || !this.sheet)) {
      node.dataset.sample = item.id;
      this.watcher.observe(node);
    } else if (this.sheet && this.sheet.url) {
      const { columns, rows, pictures, url } = this.sheet;
      const place = (index, number) => `${number > 1 ? (100 * index) / (number - 1) : 0}%`;
      node.style.backgroundImage = `url("${url}")`;
      node.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
      node.style.backgroundPosition = `${place(pictures[item.id] % columns, columns)} ${place(Math.floor(pictures[item.id] / columns), rows)}`;
    } else node.append(pictureName(item));
    return node;
  }

  fetch(id) {
    if (!this.urls.has(id)) {
      const url = Server.call(`/v1/samples/${id}/picture`).then(async (answer) => URL.createObjectURL(await answer.blob()));
      this.urls.set(id, url);
      url.catch(() => this.urls.delete(id));  // so that it is asked for again
    }
    return this.urls.get(id);
  }

  // Once more what could not be fetched and is in view.
  retry() {
    for (const node of document.querySelectorAll("[data-sample]")) {
      if (node.style.backgroundImage) continue;
      this.watcher.unobserve(node);
      this.watcher.observe(node);
    }
  }
}
