"""MultiQC's own run over a folder of three quantifications shows them: multiqc.py PROGRAM MULTIQC."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import runs  # noqa: E402


def main():
    program, multiqc = (str(pathlib.Path(path).absolute()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        names = [f"T{i}" for i in range(40)]
        (folder / "lengths.tr").write_text("".join(f"gene {name} 1000\n" for name in names))
        for seed in range(3):
            runs.classes(folder / f"{seed}.txt", names, seed, 1)
            words = ["--classes", f"{seed}.txt", "--lengths", "lengths.tr", "--out", f"all/sample{seed}", "--report"]
            (folder / "all").mkdir(exist_ok=True)
            runs.run(program, "quant", *words, cwd=folder)
        words = [multiqc, "--no-version-check", "--quiet", "--no-ansi", "--outdir", "page", "all"]
        # As a module: environments may be moved.
        words[:1] = [str(pathlib.Path(multiqc).parent / "python"), "-m", "multiqc"]
        home = {**os.environ, "HOME": made, "MPLCONFIGDIR": made}
        subprocess.run(words, cwd=folder, check=True, env=home, stdout=subprocess.DEVNULL)
        page = (folder / "page" / "multiqc_report.html").read_text()
        data = json.loads((folder / "page" / "multiqc_data" / "multiqc_data.json").read_text())
    assert "Collapsar" in page and all(f"sample{seed}" in page for seed in range(3)), "MultiQC shows no section"
    found = [rows for rows in data["report_saved_raw_data"].values() if "sample0" in rows]
    assert found and set(found[0]) == {"sample0", "sample1", "sample2"}, f"MultiQC saved {list(data['report_saved_raw_data'])}"
    assert all(sample["reads"] > 0 and 0 <= sample["unique"] <= 100 for sample in found[0].values())
    print("MultiQC shows three quantifications:", {name: round(sample["reads"]) for name, sample in found[0].items()})


main()
