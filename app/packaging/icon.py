"""The program's icon: the error of a causal attention as a small heat map, under a lens."""

CELLS, SIDE, EDGE = 8, 26, 24
COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))  # viridis, at five points


def colour(share):
    """Colour at a share of 0 to 1, interpolated."""
    place = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    low = min(int(place), len(COLOURS) - 2)
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(COLOURS[low], COLOURS[low + 1]))


def cell(row, column):
    share = ((row * 5 + column * 3) % 7) / 6 * 0.5 + 0.5 * (row == column) + 0.05
    return (f'<rect x="{EDGE + column * SIDE}" y="{EDGE + row * SIDE}" width="{SIDE - 2}" height="{SIDE - 2}" rx="3" '
            f'fill="{colour(share)}"/>')


def svg():
    """The whole picture, 256 x 256."""
    cells = "".join(cell(row, column) for row in range(CELLS) for column in range(row + 1))
    lens = ('<circle cx="160" cy="104" r="52" fill="#ffffff" fill-opacity="0.14" stroke="#f2f2f2" stroke-width="12"/>'
            '<path d="M198 142 L232 176" stroke="#f2f2f2" stroke-width="18" stroke-linecap="round"/>')
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256" viewBox="0 0 256 256">'
            f'<rect width="256" height="256" rx="44" fill="#1b1d23"/>{cells}{lens}</svg>\n')
