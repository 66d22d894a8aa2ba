"""Puts the scripts that pages use into a folder, from npm packages: KaTeX with its fonts inside its style sheet, which browsers
would not read from disk otherwise, and the shim by which search works without a server."""

import base64
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

#: The version of KaTeX is that of docs/katex-header.html.
KATEX, SHIM = "katex@0.16.11", "iframe-worker@1.0.4"


def package(name):
    """The files of an npm package by name."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, capture_output=True, text=True)
        made = list(Path(folder).glob("*.tgz"))
        if done.returncode or not made:
            sys.exit(f"site: npm pack {name} failed: {done.stderr.strip()}")
        with tarfile.open(fileobj=io.BytesIO(made[0].read_bytes())) as archive:
            files = (member for member in archive if member.isfile())
            return {member.name.removeprefix("package/"): archive.extractfile(member).read() for member in files}


def main():
    folder = Path(sys.argv[1])
    done = folder / "versions"
    if done.exists() and done.read_text() == f"{KATEX} {SHIM}":
        return
    folder.mkdir(parents=True, exist_ok=True)
    katex, shim = package(KATEX), package(SHIM)

    def font(match):
        data = base64.b64encode(katex[f"dist/{match[1]}"]).decode()
        return f'src:url(data:font/woff2;base64,{data}) format("woff2")'

    style = katex["dist/katex.min.css"].decode()
    style = re.sub(r'src:url\((fonts/[\w-]+\.woff2)\)[^;}]*', font, style)
    (folder / "katex.css").write_text(style)
    (folder / "katex.js").write_bytes(katex["dist/katex.min.js"])
    (folder / "auto-render.js").write_bytes(katex["dist/contrib/auto-render.min.js"])
    (folder / "iframe-worker-shim.js").write_bytes(shim["shim/index.js"])
    done.write_text(f"{KATEX} {SHIM}")


if __name__ == "__main__":
    main()
