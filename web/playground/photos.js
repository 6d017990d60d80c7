// Photographs of one's own: chosen, dropped or pasted. Each is sent once; afterwards the page works with its features.

class PhotoInput {
  constructor(page) {
    this.page = page;
    const { model } = page;
    const file = document.getElementById("photo-file");
    const button = document.getElementById("choose-photo");
    const hint = document.getElementById("photo-hint");
    if (!model.photos) {
      button.disabled = true;
      hint.append(...withCode("For your own photos, start the server with a network that reads them: `parsnets serve --backbone resnet50.onnx …`"));
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

  async take(files) {
    const { page } = this;
    const problems = [];
    const tell = (file, text) => {
      problems.push(`${file.name}: ${text}`);
      page.problem(new ServerProblem("photo", problems.join("\n")), "photo");
    };
    if (files.length) page.solved("photo");
    for (const file of files) {
      const limit = page.model.limits.body_bytes;
      if (file.size > limit) {
        tell(file, `the file has ${bytes(file.size)}; the server takes at most ${bytes(limit)}.`);
        continue;
      }
      page.announce(`Reading ${file.name}.`);
      const form = new FormData();
      form.append("image", file);
      form.append("request", new Blob([JSON.stringify({ top: 1, return_features: true })], { type: "application/json" }));
      try {
        const answer = await (await Server.call("/v1/predict", { body: form })).json();
        page.addPhoto({ photo: true, name: file.name, label: null, features: answer.features[0], url: URL.createObjectURL(file) });
      } catch (error) {
        if (error.code !== "lost") tell(file, error.message);
      }
    }
  }
}
