"""Ranks of true values among draws: uniform or not, and pictures of them."""

import math

# Thinned draws that a rank is taken among, so that there are a hundred ranks.
AMONG = 99


def thinned(draws):
    return [draws[int((i + 0.5) * len(draws) / AMONG)] for i in range(AMONG)]


def rank(truth, values, rng):
    """How many draws are below; ties, which discrete numbers have, in random order."""
    below = sum(value < truth for value in values)
    return below + rng.randint(0, sum(value == truth for value in values))


def bins(ranks):
    """Counts of ranks, as many bins as leave ten a bin: at most twenty."""
    number = next((number for number in (20, 10, 5) if len(ranks) >= 10 * number), 4)
    counts = [0] * number
    for each in ranks:
        counts[each * number // (AMONG + 1)] += 1
    return counts


def upper_gamma(shape, at):
    """The regularised upper incomplete gamma function: by its series below the shape, by a continued fraction above."""
    if at <= 0:
        return 1.0
    scale = math.exp(shape * math.log(at) - at - math.lgamma(shape))
    if at < shape + 1:
        term = total = 1 / shape
        place = shape
        while term > total * 1e-16:
            place += 1
            term *= at / place
            total += term
        return 1 - scale * total
    # Lentz's method.
    b = at + 1 - shape
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 1000):
        a = -i * (i - shape)
        b += 2
        d = 1 / (a * d + b)
        c = b + a / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * fraction


def uniform_p(ranks):
    """The chance of counts as uneven as these, were all ranks alike."""
    counts = bins(ranks)
    expected = len(ranks) / len(counts)
    chi_square = sum((count - expected) ** 2 for count in counts) / expected
    return upper_gamma((len(counts) - 1) / 2, chi_square / 2)


# --- Picture -------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, GAP = 200, 64, 150, 34, 14
COLOURS = ["#1b6ca8", "#c8553d", "#4f8a4c", "#8a5a9e", "#b8860b", "#2a9d8f", "#7a7a7a", "#a23b72"]


def picture(rows, columns, ranks):
    """Histograms of ranks as SVG: a panel for each case and posterior, a line for each quantity, 99% of what uniform ranks do grey.

    `ranks(row, column)` gives the lists of ranks of the quantities.
    """
    wide = LEFT + len(columns) * (WIDTH + GAP)
    high = TOP + len(rows) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
    ]
    for c, column in enumerate(columns):
        parts.append(f'<text x="{LEFT + c * (WIDTH + GAP) + WIDTH / 2}" y="20" text-anchor="middle">{column}</text>')
    for r, row in enumerate(rows):
        y = TOP + r * (HEIGHT + GAP)
        parts.append(f'<text x="{LEFT - 10}" y="{y + HEIGHT / 2 + 4}" text-anchor="end">{row}</text>')
        for c, column in enumerate(columns):
            x = LEFT + c * (WIDTH + GAP)
            parts.append(f'<g transform="translate({x} {y})">{panel(ranks(row, column))}</g>')
    return "\n".join([*parts, "</svg>", ""])


def panel(lists):
    frame = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    if not lists:
        return frame + f'<text x="{WIDTH / 2}" y="{HEIGHT / 2 + 4}" text-anchor="middle" fill="#999">no draws</text>'
    # Three times the uniform height fills the panel; what is above is cut.
    number = len(bins(lists[0]))
    expected = len(lists[0]) / number
    half = 2.576 * math.sqrt((1 - 1 / number) / expected)

    def level(share):
        return HEIGHT - HEIGHT / 3 * min(max(share, 0), 3)

    band = f'<rect y="{level(1 + half):.1f}" width="{WIDTH}" height="{level(1 - half) - level(1 + half):.1f}" fill="#e4e4e4"/>'
    lines = []
    for place, ranks in enumerate(lists):
        points = []
        for i, count in enumerate(bins(ranks)):
            y = level(count / expected)
            points += [f"{i * WIDTH / number:.1f},{y:.1f}", f"{(i + 1) * WIDTH / number:.1f},{y:.1f}"]
        colour = COLOURS[place % len(COLOURS)]
        lines.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-opacity="0.75"/>')
    return band + "".join(lines) + frame
