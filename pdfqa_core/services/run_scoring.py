"""The scores of a run: what its protocol makes of the predictions, with everything a report has to say beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pdfqa_core.background import in_background
from pdfqa_core.errors import ModelError
from pdfqa_core.evaluation_types import Evaluation, Prediction, Run, RunPlan, RunState, RunSystem, ScoredSystem
from pdfqa_core.extraction.process.outside import read_file
from pdfqa_core.interfaces import LLM, StopSignal
from pdfqa_core.metrics.bertscore import TokenEmbedder
from pdfqa_core.models.metrics import entity_finder, nli_tagger, span_reader
from pdfqa_core.protocols.asqa import PUBLISHED, ReadingLLM
from pdfqa_core.protocols.runs import EVIDENCE, PREDICTED, RECORDED, SEARCH, CaseFile, RunProtocol, Tools
from pdfqa_core.protocols.runs.profile import deviations, profile_named, search_deviations
from pdfqa_core.services.run_systems import load_settings
from pdfqa_core.services.systems import shared_words
from pdfqa_core.services.versions import MODELS, STATISTICS, versions
from pdfqa_core.types import Progress

YES = "yes"


def run_of_files(
    protocol: str, gold: Path, systems: Sequence[str], *, profile: str = "", seed: int = 0,
    options: Mapping[str, str] | None = None,
) -> Run:  # fmt: skip
    """Return a run whose answers stand in files, one per system, as the one that they are scored as."""
    digest = hashlib.sha256(read_file(gold)).hexdigest()
    recorded = tuple(RunSystem(name, evidence=RECORDED) for name in systems)
    plan = RunPlan(protocol, gold.name, (str(gold),), digest, recorded, 0, seed, profile, options or {})
    now = datetime.now(UTC)
    return Run("", gold.name, plan, RunState.DONE, 0, now, now)


def tools_of(
    plan: RunPlan, llm: Callable[[], LLM], embedder: Callable[[], TokenEmbedder], needs: frozenset[str],
    stop: StopSignal,
) -> Tools:  # fmt: skip
    """Return what the plan's options say is measured with. Raises ModelError where a model is missing.

    An NLI model tags statements by itself; without a language model only the refusals stay unscored then.
    """
    options = plan.options
    tools = Tools(
        profile=profile_named(plan.profile),
        embedder=embedder() if options.get("bertscore", YES if "embedder" in needs else "") == YES else None,
        llm=_llm(options, llm, needs),
        judge=options.get("judge") == YES,
        judge_prompt=options.get("judge_prompt") or "seed",
        calibrate=options.get("calibrate") == YES,
        tagger=nli_tagger(options["nli"]) if options.get("nli") else None,
        seed=plan.seed,
        stop=stop,
    )
    if options.get("ner"):
        tools.find = entity_finder(options["ner"])
    if options.get("disambig") == "qa":
        model = options.get("qa_model", "")
        tools.read = span_reader(model) if model else ReadingLLM(llm(), stop=stop)
    return tools


def _llm(options: Mapping[str, str], llm: Callable[[], LLM], needs: frozenset[str]) -> LLM | None:
    reads = options.get("disambig") == "qa" and not options.get("qa_model")
    if options.get("judge") == YES or reads:
        return llm()
    if "llm" not in needs:
        return None
    try:
        return llm()
    except ModelError:
        if not options.get("nli"):
            raise
        return None


def scored(
    run: Run, protocol: RunProtocol, file: CaseFile, predictions: Mapping[tuple[str, str], Prediction], tools: Tools
) -> Generator[Progress, None, Evaluation]:
    """Yield progress and return the scores of all systems. Raises ModelError, UsageError, StoppedError."""
    systems: list[ScoredSystem] = []
    for system in run.plan.systems:
        own = {item: one for (name, item), one in predictions.items() if name == system.name}

        def work(
            report: Callable[[Progress], None], name: str = system.name, given: Mapping[str, Prediction] = own
        ) -> ScoredSystem:
            tools.on_done = lambda done, total: report(Progress(f"scoring {name}", done, total))
            return protocol.score(name, file.cases, given, tools)

        yield Progress(f"scoring {system.name}")
        found = yield from in_background(work)
        systems.append(
            ScoredSystem(
                found.name, found.items, system.settings_fingerprint, system.settings, repeat_of=system.repeat_of
            )
        )
    measures = protocol.measures(systems, tools)
    searching = [load_settings(system) for system in run.plan.systems if system.evidence == SEARCH]
    if file.corpus:  # its texts are the passages
        searching = [one.changed("chunking", chunker="windows", headings=False) for one in searching]
    notes = (
        *file.notes, *tools.notes, *_counted(run, predictions), *deviations(measures, tools.profile),
        *search_deviations(searching),
    )  # fmt: skip
    return Evaluation(
        run.plan.protocol, run.plan.dataset, measures, tuple(systems), {**_settings(run), **tools.settings},
        versions((*STATISTICS, *MODELS)), tuple(dict.fromkeys(notes)),
        PUBLISHED if run.plan.protocol == "asqa" else {},
    )  # fmt: skip


def _settings(run: Run) -> dict[str, str]:
    plan = run.plan
    found = {
        "data": f"{plan.dataset}, SHA-256 {plan.data_hash}",
        "questions": f"{plan.limit} drawn with seed {plan.seed}" if plan.limit else "all",
        "seed": str(plan.seed),
        **profile_named(plan.profile).said(),
    }
    searching = [load_settings(system) for system in plan.systems if system.evidence != RECORDED]
    if len(searching) > 1 and (shared := shared_words(searching)):
        found["all systems"] = shared
    for system in plan.systems:
        hashed = f", SHA-256 {system.model_hash}" if system.model_hash else ""
        model = f"{system.model}{hashed}; " if system.model else ""
        own = "; earlier turns with its own answers" if system.history == PREDICTED else ""
        found[f"system, {system.name}"] = f"{model}reads: {EVIDENCE[system.evidence]}{own}"
        found[f"settings fingerprint, {system.name}"] = system.settings_fingerprint
    return found


def _counted(run: Run, predictions: Mapping[tuple[str, str], Prediction]) -> Sequence[str]:
    """Return sentences on what failed, and on answers whose seconds are not known."""
    notes = []
    asked = any(system.evidence != RECORDED for system in run.plan.systems)
    failed = [one for one in predictions.values() if one.failed]
    if failed:
        again = " They are asked again with --retry-failures." if asked else ""
        total = run.total or len(predictions)
        notes.append(f"{len(failed)} of {total} answers failed and are unscored; the first: {failed[0].error}{again}")
    unmeasured = sum(one.seconds is None and not one.failed for one in predictions.values())
    if unmeasured and asked:
        notes.append(f"{unmeasured} answers were remembered from an earlier run; their seconds are not counted.")
    return notes
