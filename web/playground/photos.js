// Photographs of one's own: chosen, dropped or pasted. Each is sent once; afterwards the page works with its features.

const PHOTO_PATIENCE = 120000;  // ms, for the upload and the network that reads it

class PhotoInput {
  constructor(page) {
    this.page = page;
    this.queue = [];
    this.problems = [];
    this.working = false;
    const { model } = page;
    const file = document.getElementById("photo-file");
    const button = document.getElementById("choose-photo");
    const hint = document.getElementById("photo-hint");
    if (!model.photos) {
      if (model.offline) hint.append(...withCode("This page has no backbone for your own photos: `parsnets page --backbone` writes one that has."));
      else hint.append(...withCode("To use your own photos, start the server with a backbone: `parsnets serve --backbone resnet50.onnx …`"));
      window.addEventListener("dragover", (event) => event.preventDefault());
      window.addEventListener("drop", (event) => {
        event.preventDefault();
        page.problem(new ServerProblem("no_backbone", hint.textContent), "photo");
      });
      return;
    }
    hint.textContent = "Choose, drop or paste a photo, or pick a picture below.";
    button.addEventListener("click", () => file.click());
    file.addEventListener("change", () => {
      this.take([...file.files]);
      file.value = "";
    });
    window.addEventListener("paste", (event) => this.take([...event.clipboardData.files]));
    this.acceptDrops(document.getElementById("drop"));
  }

  acceptDrops(curtain) {
    let depth = 0;
    const show = (change) => {
      depth = change === 0 ? 0 : depth + change;
      curtain.hidden = depth <= 0;
    };
    const files = (event) => [...event.dataTransfer.types].includes("Files");
    window.addEventListener("dragenter", (event) => files(event) && show(1));
    window.addEventListener("dragleave", (event) => files(event) && show(-1));
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      show(0);
      this.take([...event.dataTransfer.files]);
    });
  }

  // Files wait in a queue until the server has read them: also while it is away, or wants its token.
  take(files) {
    const { page } = this;
    if (!files.length) return;
    page.solved("photo");
    this.problems = [];
    const limit = page.model.limits.body_bytes;
    for (const file of files) {
      if (file.size > limit) this.tell(file, `the file has ${bytes(file.size)}; ${page.model.offline ? "this page" : "the server"} takes at most ${bytes(limit)}.`);
      else this.queue.push(file);
    }
    page.grid.build();
    this.work();
  }

  tell(file, text) {
    this.note(`${isolated(file.name)}: ${text}`);
  }

  // One line of what there is to say of the files that were taken last.
  note(line) {
    if (!this.problems.includes(line)) this.problems.push(line);
    this.page.problem(new ServerProblem("photo", this.problems.join("\n")), "photo");
  }

  // Reads the files of the queue, one at a time, until it is empty or the server is away.
  async work() {
    if (this.working || !this.queue.length) return;
    this.working = true;
    try {
      while (this.queue.length && !Server.lost) await this.read(this.queue[0]);
    } catch (error) {
      this.page.problem(error);
    }
    this.working = false;
  }

  async read(file) {
    const { page } = this;
    page.announce(`Reading ${isolated(file.name)}.`);
    const photo = await this.photoOf(file);
    if (this.queue[0] !== file) return;  // removed by now
    this.queue.shift();
    if (photo) page.addPhoto(photo);
    else page.grid.build();
  }

  // The photo with its features; null if it has none, which the page says.
  async photoOf(file) {
    try {
      const image = await contents(file);
      const body = new Blob([image], { type: "image/jpeg" });  // or another format: the server tells by the content
      const answer = await (await Server.call("/v1/predict?top=1&return_features=true", { body, patience: PHOTO_PATIENCE })).json();
      return { photo: true, name: file.name, label: null, features: answer.features[0], image };
    } catch (error) {
      if (!(error instanceof ServerProblem) || ["lost", "unauthorized"].includes(error.code)) throw error;
      this.tell(file, error.message);
      return null;
    }
  }
}

// What the file holds, in memory: sending a folder, or a file that is gone, would fail as if the server were away.
async function contents(file) {
  try {
    return new Blob([await file.arrayBuffer()], { type: file.type });
  } catch (error) {
    throw new ServerProblem("photo", "the file cannot be read.");
  }
}
