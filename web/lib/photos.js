// Photos cut from the sprite of a data set, where it has one.

class Photos {
  // Calls `ready` once the sprite is decoded; without a sprite nothing happens.
  constructor(thumbnails, ready) {
    this.image = null;
    this.layout = thumbnails;
    if (!thumbnails || !thumbnails.image) return;
    const image = new Image();
    image.onload = () => {
      this.image = image;
      ready();
    };
    image.src = thumbnails.image;
  }

  has(sample) {
    if (!this.image || !isNumber(sample) || sample < 0) return false;
    const { columns, size } = this.layout;
    return (Math.floor(sample / columns) + 1) * size <= this.image.naturalHeight;
  }

  canvas(sample, side) {
    const { columns, size } = this.layout;
    const canvas = element("canvas", { width: side, height: side, class: "photo" });
    canvas.getContext("2d").drawImage(this.image, size * (sample % columns), size * Math.floor(sample / columns),
      size, size, 0, 0, side, side);
    return canvas;
  }

  dataUrl(sample, side) {
    return this.canvas(sample, side).toDataURL("image/jpeg", 0.9);
  }
}
