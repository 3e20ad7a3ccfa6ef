# SPDX-License-Identifier: BSD-3-Clause
"""What a league says in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bagshift.experiments._league_results import Roles, SettingResults
from bagshift.experiments._page_values import shown
from bagshift.experiments.ranking import Ranking

TITLES = {
    "random": "Random bags",
    "clustered": "Clustered bags",
    "feature": "Bags along a column",
    "skewed": "Bags of skewed shares",
    "natural": "Natural bags",
}
HOW_MADE = {
    "random": "Rows were cut at random into bags of one size, so all shares lie near the overall "
    "share.",
    "clustered": "Each bag holds rows that lie near one another, so shares differ much.",
    "feature": "Each bag holds rows with neighbouring values in the column that varies most.",
    "skewed": "Rows were cut into bags whose shares spread far more than chance would make them.",
    "natural": "Bags are the groups that the rows come with, such as states.",
}
# Names of classes that do not follow a paper that was at hand, and what they follow.
RECONSTRUCTIONS = {
    "DAKSVM": "an abstract",
    "TrSVM": "an abstract",
    "BagCSI": "an abstract and someone else's code",
    "DASVM": "an abstract and the literature as remembered",
    "LWE": "an abstract and the literature as remembered",
    "LLPKMeans": "an abstract, with a simplified fitness",
    "LMPROJ": "the literature as remembered; constants may differ",
}


def setting_title(bags: str, bag_size: int) -> str:
    """Return a heading.

    Parameters
    ----------
    bags : str
        How bags are made.
    bag_size : int
        Rows per bag; 0 for natural bags.

    Returns
    -------
    str
    """
    title = TITLES.get(bags, f"Bags made by {bags}")
    return f"{title} of {bag_size} rows" if bag_size else title


def introduction(settings: Sequence[SettingResults]) -> list[str]:
    """Return what was run.

    Parameters
    ----------
    settings : sequence of SettingResults
        All settings.

    Returns
    -------
    list of str
    """
    methods = {name for results in settings for name in results.methods}
    tasks = {task for results in settings for task in results.tasks}
    titles = [setting_title(r.bags, r.bag_size) for r in settings]
    n_done = sum(
        part.n_draws
        for results in settings
        for method in results.methods.values()
        for part in method.tasks.values()
    )
    return [
        f"{_number(len(methods), 'method')} on {_number(len(tasks), 'task')}, in "
        f"{_number(len(titles), 'bag setting')} ({'; '.join(_lower(t) for t in titles)}): "
        f"{n_done:,} results, all by one protocol.",
        *(line for results in settings if (line := _winner(results))),
    ]


def _winner(results: SettingResults) -> str:
    """Return who closes most of the gap, of the methods that have all tasks with a gap."""
    closed = {name: results.methods[name].closed for name in results.best_first()}
    complete = [n for n in results.contenders if closed[n].n_tasks == len(results.wide) > 0]
    best = [name for name in closed if name in complete]
    if not best:
        return ""
    text = (
        f"{setting_title(results.bags, results.bag_size)}: of the gap between floor and ceiling, "
        f"{best[0]} closes most, {shown(closed[best[0]].mean, 2)} on the mean of "
        f"{_number(len(results.wide), 'task')} with a gap"
    )
    if len(best) > 1:
        text += f"; next comes {best[1]} with {shown(closed[best[1]].mean, 2)}"
    return text + "."


def how_to_read(roles: Roles, methods: Iterable[str]) -> list[str]:
    """Return the protocol in words.

    Parameters
    ----------
    roles : Roles
        Floor, ceiling and reference.
    methods : iterable of str
        Names of all methods.

    Returns
    -------
    list of str
    """
    return [
        "A task has a source, whose rows have labels, and a target, of which only the share of "
        "positives in each bag is known. A draw takes some source rows, puts some target rows "
        "into bags, and keeps others apart. It is repeated with other seeds; all methods see the "
        "same draws.",
        "Fresh accuracy is measured on target rows that were in no bag. In-sample accuracy is "
        "measured on the bagged rows, whose shares were trained on: it says what the method makes "
        "of these rows, not how it does on new ones.",
        "No target label touches fitting or the choice of parameters: methods choose by the "
        "shares of bags held out, or by the source. The one exception is the ceiling.",
        f"The floor{_named('floor', roles.floor)} is an SVM that knows the source only. The "
        f"ceiling{_named('ceiling', roles.ceiling)} is the same SVM on the bagged rows with their "
        "true labels, which nobody has in practice; it is no contender and has no rank.",
        "Gap closed is (mean accuracy of the method - that of the floor) / (that of the ceiling - "
        "that of the floor), on fresh rows: 0 is as good as the floor, 1 as good as the ceiling. "
        "It is given on tasks where the gap is above five points; its mean is the plain mean over "
        "these.",
        "Intervals are 95 % percentile bootstrap intervals over draws, resampled in each task, "
        "the same resampled draws for all methods. They say how sure a figure is on these tasks, "
        "not on others. Methods that are done on fewer tasks have means over fewer tasks, and "
        "these are to be compared with care; ranks and paired differences are free of this.",
        "Tests over tasks take these as independent, which they are not quite: some are made of "
        "the same rows. Their p-values are a little too small.",
        *_reconstructions(methods),
    ]


def _named(role: str, name: str) -> str:
    return "" if role == name else f" ({name})"


def _reconstructions(methods: Iterable[str]) -> list[str]:
    classes = sorted({name.partition("(")[0] for name in methods} & set(RECONSTRUCTIONS))
    if not classes:
        return []
    named = "; ".join(f"{name} from {RECONSTRUCTIONS[name]}" for name in classes)
    return [
        f"Some methods are reconstructions: {named}. Their figures must not be quoted as those "
        "of their authors."
    ]


def setting_words(results: SettingResults) -> list[str]:
    """Return what a setting is, how many tasks it has, and what its tests say.

    Parameters
    ----------
    results : SettingResults
        Of one setting.

    Returns
    -------
    list of str
    """
    draws = {p.n_draws for m in results.methods.values() for p in m.tasks.values() if p.n_draws}
    span = _number(max(draws, default=0), "draw")
    if len(draws) > 1:
        span = f"up to {span}"
    return [
        f"{HOW_MADE.get(results.bags, '')} {_number(len(results.tasks), 'task')}, {span} of each. "
        f"The ceiling is more than five points above the floor on {len(results.wide)}.".strip(),
        *_aside_words(results.aside),
        _ranking_words(results.ranking),
    ]


def _aside_words(tasks: Sequence[str]) -> list[str]:
    if not tasks:
        return []
    return [
        "With fewer than 50 fresh rows a task says little. Shown task by task, and in no mean, "
        f"rank or test: {', '.join(tasks)}."
    ]


def _ranking_words(ranking: Ranking) -> str:
    if math.isnan(ranking.critical_difference):
        words = ["Too few methods or tasks are complete for a test of ranks."]
    else:
        words = [
            f"Ranks compare {len(ranking.ranks)} methods on the {len(ranking.tasks)} tasks that "
            f"all of them have. Friedman's test that all are equal: {_p(ranking.friedman_p)}. "
            "Average ranks that differ by less than "
            f"{ranking.critical_difference:.2f} are not told apart (Nemenyi, 5 %)."
        ]
    if ranking.methods_left_out:
        words.append(f"Not ranked for want of tasks: {', '.join(ranking.methods_left_out)}.")
    if ranking.tasks_left_out:
        words.append(f"Not in the ranks for want of methods: {', '.join(ranking.tasks_left_out)}.")
    if ranking.n_draws_left_out:
        n = ranking.n_draws_left_out
        words.append(
            f"{_number(n, 'result')} of draws that not all of these methods have "
            f"{'is' if n == 1 else 'are'} not in the ranks."
        )
    return " ".join(words)


def _p(value: float) -> str:
    if math.isnan(value):
        return "not to be had from so few"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
