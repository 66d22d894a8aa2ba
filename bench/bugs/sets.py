"""The models of settings.toml: their texts, data and references, and the nodes that are compared."""

import array
import csv
import dataclasses
import json
import os
import pathlib
import sys
import tomllib

import jags

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = HERE / "settings.toml"
OWN = HERE / "data" / "references.json"
# Of models that have no reference in the folder of the data; references of our own are longer than a comparison of costs needs.
USUAL = {"chains": 2, "burn": 1000, "iterations": 10000, "thin": 1}
LENGTHS = {"chains": "chains", "burn": "burn", "iterations": "iters", "thin": "thin"}


@dataclasses.dataclass
class Model:
    name: str
    text: pathlib.Path
    jags_text: pathlib.Path
    data: pathlib.Path
    monitor: list
    lengths: dict  # of the chains
    long: tuple  # iterations and thinning of a reference of our own
    reference: dict  # node to mean, sd and Monte Carlo error
    exact: dict  # node to mean and sd, where it is known
    order: list  # arrays whose first index has no order of its own
    words: int  # documents whose words are compared, of a topic model
    options: list  # for `collapsar fit`


def read(path=SETTINGS):
    if "COLLAPSAR_DATA" not in os.environ:
        sys.exit("COLLAPSAR_DATA is not set: it names the folder that holds bugs/jags_reference.json")
    given = pathlib.Path(os.environ["COLLAPSAR_DATA"]).resolve() / "bugs"
    references = json.loads((given / "jags_reference.json").read_text())
    own = json.loads(OWN.read_text()) if OWN.exists() else {}
    with open(path, "rb") as file:
        settings = tomllib.load(file)

    def found(name, own):
        return own / name if (own / name).exists() else given / name

    models = []
    for entry in settings["models"]:
        name = entry["name"]
        given_reference = references.get(entry.get("reference", name), {})
        reference = given_reference or own.get(name, {"nodes": {}})
        text = found(f"{name}.bug", HERE / "models")
        models.append(
            Model(
                name=name,
                text=text,
                jags_text=HERE / "models" / entry["jags"] if "jags" in entry else text,
                data=found(entry["data"], HERE / "data"),
                monitor=entry["monitor"],
                lengths={ours: entry.get(ours, given_reference.get(theirs, USUAL[ours])) for ours, theirs in LENGTHS.items()},
                long=(entry.get("reference_iterations"), entry.get("reference_thin", 1)),
                reference=reference["nodes"],
                exact=references.get(f"exact-{name}", {"nodes": {}})["nodes"],
                order=entry.get("order", []),
                words=entry.get("words", 0),
                options=entry.get("options", []),
            )
        )
    return models


def sample(model, folder, seed=1):
    return jags.run(model.jags_text, model.data, model.monitor, folder, seed=seed, **model.lengths)


def nodes(model, folder):
    """Estimates of the nodes that are compared, from JAGS's draws."""
    draws = jags.chains(folder)
    if model.words:
        draws = words(draws, model.words)
    if model.order:
        count = len(next(iter(draws.values())))
        parts = [ordered({name: each[chain] for name, each in draws.items()}, model.order) for chain in range(count)]
        draws = {name: [part[name] for part in parts] for name in draws}
    return {name: jags.estimate(each) for name, each in draws.items()}


def numbers(name):
    stem, _, rest = name.partition("[")
    return stem, [int(part) for part in rest.rstrip("]").split(",")] if rest else []


def ordered(values, arrays):
    """Components by the mean of the first coordinate of the first array of `arrays`."""
    level = {}
    for name, value in values.items():
        stem, place = numbers(name)
        if stem == arrays[0] and place[1:] == [1] * len(place[1:]):
            level[place[0]] = value if isinstance(value, float) else jags.mean(value)
    rank = {old: new for new, old in enumerate(sorted(level, key=level.get), 1)}
    moved = {}
    for name, value in values.items():
        stem, place = numbers(name)
        if stem in arrays:
            name = f"{stem}[{','.join(map(str, [rank[place[0]], *place[1:]]))}]"
        moved[name] = value
    return moved


def words(draws, documents):
    """Draws of the shares of words, theta times phi, of the first documents: they do not depend on labels."""
    places = [numbers(name)[1] for name in draws if name.startswith("phi[")]
    topics, vocabulary = (max(place[axis] for place in places) for axis in (0, 1))
    result = {}
    for word in range(1, vocabulary + 1):
        for document in range(1, documents + 1):
            result[f"pw[{document},{word}]"] = [
                array.array("d", (sum(a * b for a, b in pairs) for pairs in zip(*(
                    zip(draws[f"theta[{document},{topic}]"][chain], draws[f"phi[{topic},{word}]"][chain])
                    for topic in range(1, topics + 1)
                ))))
                for chain in range(len(draws["phi[1,1]"]))
            ]
    return result


def means(model, path):
    """Posterior means of a posterior.csv by the names of `nodes`."""
    with open(path, newline="") as file:
        found = {row["name"].replace(" ", ""): float(row["mean"]) for row in csv.DictReader(file)}
    if model.order:
        found = ordered(found, model.order)
    if model.words and "pw[1,1]" not in found:
        topics = max(numbers(name)[1][0] for name in found if name.startswith("phi["))
        vocabulary = max(numbers(name)[1][1] for name in found if name.startswith("phi["))
        for document in range(1, model.words + 1):
            for word in range(1, vocabulary + 1):
                found[f"pw[{document},{word}]"] = sum(
                    found[f"theta[{document},{topic}]"] * found[f"phi[{topic},{word}]"] for topic in range(1, topics + 1)
                )
    return found
