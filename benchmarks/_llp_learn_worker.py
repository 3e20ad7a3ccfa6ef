# SPDX-License-Identifier: BSD-3-Clause
"""Fit the classifiers of llp-learn, in the environment of that package.

    PYTHON -I _llp_learn_worker.py FOLDER

FOLDER holds ``problem.npz`` (X, bags, shares, X_fresh) and ``jobs.json``, a list of names and
settings. For each job one line of JSON is printed: its name, the CPU seconds of the fit, and the
labels of the fresh rows. Started with -I, so that nothing beside this file can be imported in
the place of a package; ``llp_learn.py`` beside it has the name of one.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def build(kind, settings):
    if kind == "em-svc":
        from llp_learn.em import EM
        from sklearn.svm import SVC

        return EM(SVC(**settings), init_y="majority", random_state=0)
    from llp_learn.alter import alterSVM, alterSVMRBF

    return {"alter-svm": alterSVM, "alter-svm-rbf": alterSVMRBF}[kind](random_state=0, **settings)


def main():
    folder = Path(sys.argv[1])
    problem = np.load(folder / "problem.npz")
    warnings.simplefilter("ignore")
    for job in json.loads((folder / "jobs.json").read_text(encoding="utf-8")):
        model = build(job["kind"], job["settings"])
        output, sys.stdout = sys.stdout, sys.stderr  # the package prints while it fits
        start = time.process_time()
        try:
            model.fit(problem["X"], problem["bags"], problem["shares"])
            seconds = time.process_time() - start
            labels = np.asarray(model.predict(problem["X_fresh"])).astype(int).tolist()
            found = {"name": job["name"], "seconds": seconds, "labels": labels}
        except Exception as error:
            found = {"name": job["name"], "error": repr(error)}
        finally:
            sys.stdout = output
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
