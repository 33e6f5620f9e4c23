// Two surfaces to draw on with the same strokes: a canvas, and SVG text for export.

const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
export const escape = (text) => String(text).replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
export const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

export class CanvasSurface {
  constructor(context) {
    this.context = context;
  }

  line(x0, y0, x1, y1, colour, width, dash = []) {
    const c = this.context;
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
  }

  /** Fills and strokes the path that has just been drawn. */
  paint(fill, stroke, width, dash) {
    const c = this.context;
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width;
      c.setLineDash(dash);
      c.stroke();
    }
  }

  polygon(points, fill, stroke, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    this.paint(fill, stroke, width, dash);
  }

  circle(x, y, radius, fill, stroke, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(fill, stroke, width, dash);
  }

  /** Centred text; with `halo`, a colour, it stays readable where it crosses lines. */
  text(x, y, text, size, colour, bold = false, halo = "") {
    const c = this.context;
    c.font = `${bold ? "bold " : ""}${size.toFixed(1)}px ${FONT}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    if (halo) {
      c.strokeStyle = halo;
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.setLineDash([]);
      c.strokeText(text, x, y);
    }
    c.fillStyle = colour;
    c.fillText(text, x, y);
  }
}

const short = (number) => Number(number.toFixed(1));

export class SvgSurface {
  constructor(width, height, background) {
    this.parts = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" ` +
      `viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${escape(FONT)}">`,
      `<rect width="100%" height="100%" fill="${background}"/>`,
    ];
  }

  #paint(fill, stroke, width, dash) {
    return `fill="${fill || "none"}"` + (stroke ? ` stroke="${stroke}" stroke-width="${short(width)}"` : "") +
      (dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "");
  }

  line(x0, y0, x1, y1, colour, width, dash = []) {
    this.parts.push(`<line x1="${short(x0)}" y1="${short(y0)}" x2="${short(x1)}" y2="${short(y1)}" ` +
      `${this.#paint("", colour, width, dash)}/>`);
  }

  polygon(points, fill, stroke, width = 1, dash = []) {
    this.parts.push(`<polygon points="${points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ")}" ` +
      `${this.#paint(fill, stroke, width, dash)}/>`);
  }

  circle(x, y, radius, fill, stroke, width = 1, dash = []) {
    this.parts.push(`<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" ` +
      `${this.#paint(fill, stroke, width, dash)}/>`);
  }

  text(x, y, text, size, colour, bold = false, halo = "") {
    const around = halo ? ` stroke="${halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : "";
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" font-size="${short(size)}" fill="${colour}"${around} ` +
      `text-anchor="middle" dominant-baseline="central"${bold ? ' font-weight="bold"' : ""}>${escape(text)}</text>`);
  }

  toString() {
    return [...this.parts, "</svg>"].join("\n");
  }
}
