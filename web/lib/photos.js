// Photos cut from the sprite of the report, where it has one.

const Photos = {
  image: null,
  layout: null,

  // Calls `ready` once the sprite is decoded; without a sprite nothing happens.
  load(thumbnails, ready) {
    if (!thumbnails || !thumbnails.image) return;
    const image = new Image();
    image.onload = () => {
      Photos.image = image;
      Photos.layout = thumbnails;
      ready();
    };
    image.src = thumbnails.image;
  },

  has(sample) {
    if (!Photos.image || !isNumber(sample) || sample < 0) return false;
    const { columns, size } = Photos.layout;
    return (Math.floor(sample / columns) + 1) * size <= Photos.image.naturalHeight;
  },

  canvas(sample, side) {
    const { columns, size } = Photos.layout;
    const canvas = element("canvas", { width: side, height: side, class: "photo" });
    canvas.getContext("2d").drawImage(Photos.image, size * (sample % columns), size * Math.floor(sample / columns),
      size, size, 0, 0, side, side);
    return canvas;
  },

  dataUrl: (sample, side) => Photos.canvas(sample, side).toDataURL("image/jpeg", 0.9),
};
