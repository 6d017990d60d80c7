// Okabe–Ito for up to eight classes (yellow and black darkened or lightened by the style sheet so that they show on both
// papers); beyond that hues at equal steps with three lightnesses, which shapes tell apart further.
function classPalette(size) {
  const okabeIto = ["blue", "vermillion", "green", "purple", "orange", "sky", "ink", "yellow"];
  if (size <= okabeIto.length) return (index) => `var(--${okabeIto[index]})`;
  const lightness = [52, 64, 42];
  return (index) => String(d3.hcl((index * 360) / size + 15, 58, lightness[index % 3]));
}

const CLASS_SHAPES = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar];

// The outline of a D3 symbol of `area` square pixels.
function symbolPath(type, area) {
  return d3.symbol().type(type).size(area)();
}

function classShape(index, size) {
  return size <= 8 ? d3.symbolCircle : CLASS_SHAPES[index % CLASS_SHAPES.length];
}
