"""Figures as SVG: axes, marks and words, in greys that light and dark pages carry and colours that colour-blind readers tell apart."""

from html import escape
from math import ceil, floor, log10

GREY = "#6b7280"
#: Okabe and Ito's colours, without black and yellow, and three that differ from them in lightness.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#7a5c00", "#8c8cf0", "#a0a0a0", "#004d40"]


def ticks(low, high, about=5):
    """Round numbers between two."""
    step = 10 ** floor(log10((high - low) / about))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= about)
    first = ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, floor(high / step + 1e-9) + 1)]


def number(x):
    return f"{x:.1f}".removesuffix(".0")


class Drawing:
    """An SVG that grows."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def add(self, name, text=None, **attributes):
        words = " ".join(
            f'{key.rstrip("_").replace("_", "-")}="{number(v) if isinstance(v, float) else escape(str(v))}"' for key, v in attributes.items()
        )
        self.parts.append(f"<{name} {words}/>" if text is None else f"<{name} {words}>{escape(str(text))}</{name}>")

    def text(self, x, y, words, **attributes):
        self.add("text", words, x=float(x), y=float(y), **attributes)

    def line(self, x1, y1, x2, y2, colour=GREY, width=1.0, **attributes):
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=colour, stroke_width=width, **attributes)

    def path(self, points, colour=GREY, width=1.5, fill="none", **attributes):
        d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.add("path", d=d, fill=fill, stroke=colour, stroke_width=width, **attributes)

    def dot(self, x, y, radius=3.0, colour=GREY, **attributes):
        self.add("circle", cx=float(x), cy=float(y), r=radius, fill=colour, **attributes)

    def box(self, x, y, width, height, colour, **attributes):
        self.add("rect", x=float(x), y=float(y), width=float(width), height=float(height), fill=colour, **attributes)

    def svg(self):
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{GREY}" role="img">'
        )
        return "\n".join([head, f"<title>{escape(self.title)}</title>", *self.parts, "</svg>"]) + "\n"


class Panel:
    """Axes in a part of a drawing: `place` is left, top, width and height of what is between them."""

    def __init__(self, drawing, place, x, y, log=False):
        self.on, (self.left, self.top, self.width, self.height) = drawing, place
        self.low, self.high, self.logs = (x[0], y[0]), (x[1], y[1]), log

    def x(self, value):
        return self.left + self.width * (value - self.low[0]) / (self.high[0] - self.low[0])

    def y(self, value):
        return self.top + self.height * (self.high[1] - value) / (self.high[1] - self.low[1])

    def at(self, x, y):
        return self.x(x), self.y(y)

    def axes(self, name_x="", name_y="", marks_x=None, marks_y=None, label=lambda v: f"{v:g}"):
        bottom = self.top + self.height
        self.on.line(self.left, bottom, self.left + self.width, bottom)
        for value in ticks(self.low[0], self.high[0]) if marks_x is None else marks_x:
            self.on.line(self.x(value), bottom, self.x(value), bottom + 4)
            self.on.text(self.x(value), bottom + 17, label(value), text_anchor="middle", font_size=11)
        for value in ticks(self.low[1], self.high[1]) if marks_y is None else marks_y:
            self.on.line(self.left, self.y(value), self.left + self.width, self.y(value), stroke_opacity=0.25)
            self.on.text(self.left - 6, self.y(value) + 4, label(value), text_anchor="end", font_size=11)
        self.on.text(self.left + self.width / 2, bottom + 34, name_x, text_anchor="middle")
        self.on.text(self.left - 30, self.top - 9, name_y)
