"""``mpirun -n 8 python -m pycollapsar.mpi mixture data/ --components 20 --out fit``, or ``topics data/ --topics 20 --out fit``

Every rank holds a part of the rows or documents, and rank 0 climbs. A rank that dies ends the run, as MPI has it: with ``--checkpoint DIR``
the same command and ``--resume DIR`` go on from the newest checkpoint, with mixtures to the same bits.
"""

from __future__ import annotations

import sys

from .distributed import MPI
from .distributed._program import parser, run


def main() -> int:
    """Fits with the ranks that mpirun has started."""
    arguments = parser("python -m pycollapsar.mpi", engines=False).parse_args()
    try:
        engine = MPI(threads=arguments.threads)
    except (ImportError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return run(arguments, engine, sys.argv, talks=engine.rank == 0)


if __name__ == "__main__":
    sys.exit(main())
