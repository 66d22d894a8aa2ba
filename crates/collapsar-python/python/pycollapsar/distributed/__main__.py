"""``python -m pycollapsar.distributed mixture DATA... --engine ray --out DIR``, and ``topics`` the same way"""

from __future__ import annotations

import sys

from . import Engine, Local, Ray
from ._program import parser, run


def main() -> int:
    """Fits with workers in threads or with Ray."""
    arguments = parser("python -m pycollapsar.distributed", engines=True).parse_args()
    engine: Engine
    try:
        if arguments.engine == "ray":
            engine = Ray(arguments.workers, threads=arguments.threads, address=arguments.address)
        else:
            engine = Local(arguments.workers or 1, threads=arguments.threads)
    except (ImportError, ConnectionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with engine:
        return run(arguments, engine, sys.argv, talks=True)


if __name__ == "__main__":
    sys.exit(main())
