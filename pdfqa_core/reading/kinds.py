"""What a question asks for beyond one passage: a summary, a comparison, all of a list. Rules on its words, for English.

The rules are meant to miss rather than to be wrong: a question that is taken for an ordinary one is still answered from
the best passages. What a kind searches for is in `plans`, how it is read in `services.kinds`. How often the rules are
right is measured by `benchmarks/question_kinds.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from pdfqa_core.text import content_terms, terms


class Kind(StrEnum):
    """What is asked for. SUMMARY: of documents; SECTION: what they say on a subject; MENTIONS: which speak of it."""

    ORDINARY = "ordinary"
    SUMMARY = "summary"
    SECTION = "section"
    COMPARISON = "comparison"
    LIST = "list"
    MENTIONS = "mentions"


@dataclass(frozen=True, slots=True)
class Request:
    """A recognised question.

    `subjects` are what is compared or mentioned, or the subject of a summary (empty: everything asked about); `aspect`
    is in what respect things are compared (may be empty). `said`: what a section says is asked for, in its own words.
    """

    kind: Kind
    subjects: tuple[str, ...] = ()
    aspect: str = ""
    said: bool = False

    @property
    def questions(self) -> tuple[str, ...]:
        """What a comparison asks of each side, as a question of its own; nothing for other kinds."""
        if self.kind is not Kind.COMPARISON:
            return ()
        if not self.aspect:
            return tuple(f"What is {side}?" for side in self.subjects)
        if _ASKS.match(self.aspect):
            return tuple(f"{self.aspect}, {side}?" for side in self.subjects)
        return tuple(f"What is the {self.aspect} of {side}?" for side in self.subjects)


# An aspect that is a question or a statement: "Which plan is cheaper", "both singers", "have more members".
_ASKS = re.compile(r"(?:which|who|what|where|both|each|have|has|is|in the same)\b", re.IGNORECASE)
ORDINARY = Request(Kind.ORDINARY)
LONGEST_SUBJECT = 9  # words of one side of a comparison


def _any(*words: str) -> str:
    """Return a pattern for one of the words; they may be patterns themselves."""
    return f"(?:{'|'.join(words)})"


def _maybe(*words: str) -> str:
    """Return a pattern for one of the words and a space, or nothing."""
    return f"(?:{_any(*words)} )?"


def _rules(*patterns: str, end: str = "$") -> tuple[re.Pattern[str], ...]:
    """Return patterns that match from the beginning."""
    return tuple(re.compile(f"^{pattern}{end}", re.IGNORECASE) for pattern in patterns)


# ------------------------------------------------------------------ around the request

_FILLER = _any("and", "so", "ok", "okay", "hi", "hello", "then", "now", "also", "please", "kindly", "just")
_SOFTLY = _maybe("please", "briefly", "quickly") * 2
_ASKING = _any(
    rf"{_any('can', 'could', 'would', 'will')} (?:you|u) {_SOFTLY}",
    rf"{_any('can', 'could', 'may')} (?:i|we) {_any('get', 'have', 'see')} (?=an? |the )",
    r"i(?: would|['’]d)? (?:like|want|need)(?: (?:you )?to(?: (?:see|know|have|get|read))?)? ",
    r"(?:give|show|tell|write|send|make|provide|get|prepare|create|produce|generate)"
    r"(?: me| us)?(?: with)? ",
)
_POLITE = re.compile(rf"^\W*(?:{_FILLER}\b\W*)*(?:{_ASKING})*{_SOFTLY}", re.IGNORECASE)
_FORM = (
    r"in (?:(?:an?|one|two|three|four|five|six|ten|\d+|simple|plain|few|your own|short) )+"
    + _any("sentences?", "words?", "paragraphs?", "lines?", "terms", "language", "bullet points", "bullets", "points")
)  # fmt: skip
_THANKS = _any("please", "thanks", "thank you", "for me", "for us", "briefly", "in short", _FORM)
_ENDING = re.compile(rf"(?:[\s,]+{_THANKS})*[\s?.!]*$", re.IGNORECASE)

# ------------------------------------------------------------------ summaries

# "this document", "the whole report", "these PDFs", "everything"; not "the annual report of 2021", which names one.
_WHOLE = (
    _maybe("(?:all|each|both)(?: of)?")
    + _maybe("the", "this", "that", "these", "those", "my", "our", "your")
    + f"(?:{_any('whole', 'entire', 'full', 'uploaded', 'attached', 'given', 'above', 'long', 'selected')} )*"
    + _any(
        "pdf (?:documents?|files?)",
        "documents?", "docs?", "pdfs?", "files?", "papers?", "reports?", "texts?", "articles?", "handbooks?",
        "filings?",
        "books?", "brochures?", "manuals?", "contracts?", "thesis", "study", "leaflets?", "materials?", "contents?",
        "10-[qk]s?",
    )
    + "(?: files?| documents?| i (?:uploaded|added|attached)| here)?"
)  # fmt: skip
_ALL = _any("it all", "everything", rf"(?:the (?:contents?|whole) of )?{_WHOLE}")
_SHORT = (
    "(?:"
    + _any(
        "short", "brief", "quick", "concise", "one[- ]paragraph", "high[- ]level", "general", "executive", "detailed",
        "rough", "simple",
    )
    + " )*"
)  # fmt: skip
_SUMMARY_OF = _SHORT + _any("summary", "overview", "outline", "synopsis", "abstract", "gist", "recap", "run[- ]?down")
_SUMMARISE = _any("summari[sz]e", "sum up", "recap", "outline")
_POINTS = _any(
    _any("main", "key", "most important", "central", "essential", "core", "major", "principal")
    + " "
    + _any(
        "points?", "topics?", "findings?", "ideas?", "takeaways?", "messages?", "themes?", "subjects?", "conclusions?",
        "results?", "sections?", "parts?", "contents?", "facts?", "things?",
    ),
    "highlights?",
    "takeaways?",
)  # fmt: skip
_TREAT = _any(
    "about", "covers?", "says?", "contains?", "talk about", "discuss", "deal with", "tell us", "describe", "treat"
)
_IS = _any("['’]?s", " is", " are", "['’]re")
_TOPICS = _any("what", "which") + " " + _any("topics?", "subjects?", "themes?", "areas?", "sections?", "issues?")

_SUMMARY = _rules(
    rf"{_any(_SUMMARISE, 'describe', 'explain', 'review', 'introduce', 'break down')} {_ALL}(?: to (?:me|us))?",
    rf"break {_WHOLE} down",
    rf"explain what {_WHOLE} {_TREAT}",
    rf"what information (?:do|does) {_WHOLE} {_TREAT}",
    rf"what (?:can|could) (?:i|we) (?:find|read|learn) in {_WHOLE}",
    rf"(?:(?:an? |the )?{_SUMMARY_OF}|tl;?dr|(?:summari[sz]e|sum up)(?: (?:it|this)(?: all)?)?)(?: of (?:it|this))?",
    r"sum (?:it|this) up",
    rf"(?:what{_IS} )?(?:an? |the )?{_SUMMARY_OF} (?:of|about|for|on) (?:(?:the )?{_POINTS} (?:of|in|from) )?{_ALL}",
    rf"what{_IS} {_WHOLE}(?: all)? about",
    rf"(?:me )?(?:about {_WHOLE}|what {_WHOLE} (?:(?:is|are)(?: all)? about|says?|covers?|contains?))",
    rf"what (?:do|does|is|are|did) {_WHOLE} {_TREAT}",
    rf"what{_IS}(?: written)? in {_WHOLE}",
    rf"what (?:kind|type|sort) of {_WHOLE} (?:is|are) (?:this|it|that|these|they)",
    rf".*[,.;:?!] ?(?:what{_IS} (?:it|this)(?: all)? about|summari[sz]e it)",
    rf"(?:what (?:are|were) )?(?:the |all the )?{_POINTS}(?: (?:of|in|from|made in|covered in) {_WHOLE})?",
    rf"{_TOPICS} (?:do|does|are) {_WHOLE} {_TREAT}",
    rf"{_TOPICS} are (?:covered|discussed|treated|dealt with)(?: (?:in|by) {_WHOLE})?",
    rf"what (?:do|should|can) i (?:need to |have to )?(?:know|learn|expect) (?:about|from) {_WHOLE}",
    rf"what is the (?:main )?(?:topic|subject|purpose|point|message|idea|theme|content) of {_WHOLE}",
)

_OF_SUBJECT = _rules(
    rf"(?:{_SUMMARISE}|(?:walk|take) (?:me|us) through) (?P<subject>.+)",
    rf"(?:what(?:['’]s| is) )?(?:an? |the )?{_SUMMARY_OF} of (?P<subject>.+)",
    r"everything (?:that )?(?:\w+ )*?(?:about|on) (?P<subject>.+)",
)
# A heading in quotes, as the program's own questions have it.
_SAID = _rules(r"what (?:is said|does .+ say) about [“\"](?P<subject>[^“”\"]+)[”\"]")
_BEFORE_SUBJECT = _rules(
    r"what .*?\b(?:says?|said) (?:about|on) ",
    r"(?:the )?(?:section|chapter|part|passage|paragraph)s? (?:on|about|called|titled) ",
    r"everything (?:about|on) ",
    r"(?:the|this|our|my|its) ",
    end="",
)

# ------------------------------------------------------------------ comparisons

_LINKS = (
    "in terms of", "with (?:regard|respect) to", "with regards to", "regarding", "concerning", "when it comes to",
    "in regard to", "in relation to", "as (?:to|for)", "in", "for", "on", "about", "under", "when",
)  # fmt: skip
_IN = rf"(?:,? (?P<link>{_any(*_LINKS)}) (?P<aspect>.+))?$"
_SIDES = r"(?P<a>.+?),? (?:and|vs\.?|versus|or)(?: (?:that|those|the one|the ones) of)? (?P<b>.+?)"
_HOW = "(?:explain )?(?:how|where|in (?:what|which) (?:ways?|respects?))"
_MAIN = f"(?:{_any('main', 'key', 'biggest', 'major', 'exact', 'most important', 'essential', 'basic')} )*"
_DIFFERENCES = _any(
    "differences?", "similarit(?:y|ies)", "distinctions?", "comparison", r"\w+ and (?:similari|differen)\w+"
)
_DIFFERENCE_OF = (
    r"(?:(?:explain|describe|list)(?: (?:to )?me)? )?(?:what(?:['’]?s| is| are| were| was) )?"
    rf"(?:the |an? |any |is there an? |are there )?{_MAIN}{_DIFFERENCES}(?: in (?P<of>[\w\s,'’-]+?))? "
    r"(?:between|of) (?:both )?"
)
_WITH = _any("and", "with", "to", r"vs\.?", "versus", "against", "or")
_AGAINST = _any(r"vs\.?", "versus", "(?:as )?compared (?:to|with)", "in comparison (?:to|with)")
_AUXILIARY = _any("is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "will", "would")
_NO_QUESTION = rf"(?!(?:what|which|who|whom|whose|where|when|why|how|{_AUXILIARY})\b)"
# Words in -er that compare nothing are left out: "number", "member", "over", "under", "after", "ever", "rather".
_MORE = r"(?:more|less|fewer|better|worse|\w{2,}(?<!numb)(?<!memb)(?<!ov)(?<!und)(?<!aft)(?<!ev)(?<!rath)(?<!oth)er)"
_VERB = _maybe("have", "has", "cost", "offer", "cover", "pay", "provide", "give", "get", "be", "take")
_SAME = _any("both", "each", "(?:in |of |from |at )?the same", "(?:located|based|born|found|made) in the same")

_COMPARISON = (
    *_rules(
        _DIFFERENCE_OF + _SIDES,
        rf"{_HOW} (?:{_AUXILIARY} )?{_SIDES} (?:differ|compare|different|compared)(?: (?:from|to|with) each other)?",
        rf"{_HOW} {_AUXILIARY} (?P<a>.+?) {_any('differ(?:ent)?', 'compare')} (?:from|to|with|against) (?P<b>.+?)",
        # "compare research and development with sales and marketing"
        r"(?:compare|contrast) (?P<a>.+ and .+?),? (?:with|against|vs\.?|versus) (?P<b>.+ and .+?)",
        r"(?:compare|contrast|compare and contrast) (?:(?:the )?(?P<of>[\w\s,'’-]+?) (?:of|between) )?(?:both )?"
        rf"(?P<a>.+?),? {_WITH} (?P<b>.+?)",
        r"(?:differentiate|distinguish)(?: between)? (?P<a>.+?) (?:and|from) (?P<b>.+?)",
        r"what (?:distinguishes|separates|sets) (?P<a>.+?)(?: apart)? from (?P<b>.+?)",
        rf"what (?:do|does) {_SIDES} have in common",
        rf"{_NO_QUESTION}(?:(?P<of>(?:\S+ ){{1,4}}?)of )?"
        rf"(?P<a>(?:\S+ ){{0,7}}?[^\s,]+),? {_AGAINST} (?P<b>(?:\S+ ){{0,7}}\S+?)",
        end=_IN,
    ),
    *_rules(
        r"(?P<aspect>(?:which|who|what|where)\b[^,]+?)[,:;] ?(?P<a>[^,]+?),? or (?P<b>.+)",
        rf"{_AUXILIARY} (?:both )?(?P<a>.+?) and (?P<b>.+?) (?P<aspect>{_SAME}\b.*)",
        rf"{_AUXILIARY} (?P<a>.+?) (?P<aspect>{_VERB}(?:an? |the )?{_MORE}\b.*?) ?than (?P<b>.+)",
    ),
)
_BEFORE_SIDE = re.compile(r"^(?:(?:the|a|an|both|either|that of|those of)\s+)+", re.IGNORECASE)
_STANDS_FOR = re.compile(r"^(?:the ones? |that |those )?(?=(?:in|of|for|from|on|under|at|with)\b)", re.IGNORECASE)
_HEAD = re.compile(r"^(?P<head>.+?) (?:in|of|for|from|on|under|at|with)\b", re.IGNORECASE)
_NO_SIDE = re.compile(
    r"^(?:each other|one another|them|this|that|these|those|two|both|there)$"
    r"|^(?:it|they|he|she|we|you|i|its|their|(?:the )?others?|those|(?:the )?previous|the same|the rest)\b"
    r"|\b(?:what|how|why|which|whom?)\b",
    re.IGNORECASE,
)

# ------------------------------------------------------------------ lists

_TO_LIST = rf"{_any('list', 'enumerate', 'itemi[sz]e')}(?: out| down| up)?"
_WHOLE_LIST = (
    f"(?:{_any('full', 'complete', 'entire', 'exhaustive', 'comprehensive', 'bullet(?:ed|-point)?', 'numbered')} )*"
)
_LIST = _rules(
    rf"(?:{_TO_LIST}|name|mention|specify|(?:write|note|put) down) (?:me )?(?:all|every|each|everything)\b",
    rf"{_TO_LIST} (?:me )?(?:(?:the|its|their|his|her|your|our) )?(?!this\b|it\b|them\b|and\b)\w",
    r"the names of (?:all|each|every)\b",
    r"(?:what|who|which) (?:are|were) (?:all|each)(?: of)? (?:the|its|their|these|those|different)\b",
    rf"(?:what(?:['’]s| is) )?(?:an?|the) {_WHOLE_LIST}list(?:ing)? of\b",
    r"what all (?:is|are|was|were|does|do)\b",
    r".*[.?!,;:] ?(?:please )?(?:give|make|show|provide)(?: me)? (?:a|the) (?:full|complete|entire) list$",
    r".*[.?!,;:] ?(?:please )?(?:list|name|enumerate) (?:them|these|those|all|each|every one)(?: all| of them)?$",
    end="",
)
_EVERY = _rules(r"(?:all|every)\b(?: of\b)?(?: the\b| its\b| their\b)? \w", end="")  # behind "Give me"

# ------------------------------------------------------------------ which documents

_DOCUMENTS = (
    _maybe("of (?:the|these|those|my|our|your)", "the", "these", "those", "my", "our", "your")
    + _any("documents?", "docs?", "pdfs?", "files?", "papers?", "reports?", "articles?", "filings?", "texts?", "books?")
    + "(?: here| i (?:uploaded|added|have))?"
)  # fmt: skip
_SPEAK = _any(
    "(?:mention|cover|describe|treat|cite|name)s?", "discuss(?:es)?", "refers? to", "deals? with",
    "(?:talk|speak|write|report)s? (?:about|of|on)", "(?:is|are) (?:about|on)",
    "(?:say|tell|contain|have|has|give)s? (?:something |anything |more )?(?:information )?(?:about|on)",
    "contains? (?:the words? )?",
)  # fmt: skip
_NAMED = _any("mentioned", "discussed", "described", "treated", "named", "covered", "cited", "used")
_MENTIONS = _rules(
    rf"(?:in )?{_any('which', 'what')} {_DOCUMENTS} {_SPEAK} ?(?P<subject>.+)",
    rf"{_any('do', 'does')} any (?:of )?{_DOCUMENTS} {_SPEAK} ?(?P<subject>.+)",
    rf"in {_any('which', 'what')} {_DOCUMENTS} {_any('is', 'are', 'was', 'were')} "
    rf"(?:the words? )?(?P<subject>.+?) {_NAMED}",
    rf"{_any('is', 'are')} there (?:an?|any) {_DOCUMENTS} (?:(?:that|which) {_SPEAK}|about|on) ?(?P<subject>.+)",
    rf"(?:(?:list|find|search) )?{_any('all', 'every')}(?: of)? {_DOCUMENTS} "
    rf"(?:(?:that|which) {_SPEAK}|about) ?(?P<subject>.+)",
)


def recognised(question: str) -> Request:
    """Return what the question asks for; ORDINARY where no rule is sure."""
    asked = _ENDING.sub("", " ".join(question.split()))
    bare = _POLITE.sub("", asked, count=1)
    if _matches(_SUMMARY, asked) or _matches(_SUMMARY, bare):
        return Request(Kind.SUMMARY)
    if found := _mentioned(bare) or _compared(bare) or _compared(asked):
        return found
    if said := _matches(_SAID, bare):
        return Request(Kind.SECTION, (said["subject"],), said=True) if content_terms(said["subject"]) else ORDINARY
    if subject := _matches(_OF_SUBJECT, bare):
        about = subject["subject"]
        if before := _matches(_BEFORE_SUBJECT, about):
            about = about[before.end() :]
        return Request(Kind.SECTION, (about,)) if content_terms(about) else ORDINARY
    if _matches(_LIST, bare) or (bare != asked and _matches(_EVERY, bare)):
        return Request(Kind.LIST)
    return ORDINARY


def _matches(rules: tuple[re.Pattern[str], ...], text: str) -> re.Match[str] | None:
    return next((found for rule in rules if (found := rule.match(text))), None)


def _mentioned(text: str) -> Request | None:
    """Return what documents are asked for that speak of something; None where none are."""
    found = _matches(_MENTIONS, text)
    about = _BEFORE_SIDE.sub("", found["subject"]).strip(" “”\"'") if found else ""
    return Request(Kind.MENTIONS, (about,)) if content_terms(about) else None


def _compared(text: str) -> Request | None:
    """Return the comparison that a question asks for, None where it asks for none or its sides cannot be told."""
    for rule in _COMPARISON:
        found = rule.match(text)
        if found is None:
            continue
        parts = found.groupdict()
        link = parts.get("link")
        if link and re.search(rf"\b{link}\b", parts["a"], re.IGNORECASE):  # "sales in Europe with sales in Japan"
            parts |= {"b": f"{parts['b']} {link} {parts['aspect']}", "aspect": None}
        of = parts.get("of")
        # "the price of tea with the cost of rum", "the Director of Sales and the Sales Representative"
        own = of and (of[:1].isupper() or _HEAD.match(_side(parts["b"])))
        if own and f"{of} of {parts['a']}" in text:
            parts |= {"a": f"{of} of {parts['a']}", "of": None}
        if head := _HEAD.match(_side(parts["a"])):  # "the warranty in the invoice with the one in the contract"
            parts["b"] = _with_head(head, _STANDS_FOR.sub(f"{head['head']} ", parts["b"].strip()))
        sides = tuple(_side(parts[name]) for name in ("a", "b"))
        if all(sides) and terms(sides[0]) != terms(sides[1]):
            aspect = " ".join(part.strip() for part in (parts.get("of"), parts.get("aspect")) if part)
            return Request(Kind.COMPARISON, sides, aspect)
    return None


def _with_head(head: re.Match[str], side: str) -> str:
    """Return the other side with what is asked of both: "the margin of Services and Products".

    A head that is a name ("Director of Sales") belongs to its side alone, as does another head of the other side unless
    that is like what stands behind the first: "sales in the third quarter of 2023 and the third quarter of 2022".
    """
    asked, first = head["head"], head.string[head.end() :]
    own = _HEAD.match(_side(side))
    parallel = own is None or own["head"][:1].isupper() or set(content_terms(own["head"])) & set(content_terms(first))
    if asked[:1].isupper() or not parallel or content_terms(side)[:1] == content_terms(asked)[:1]:
        return side
    return f"{head[0]} {_BEFORE_SIDE.sub('', side.strip())}"


def _side(text: str) -> str:
    """Return one side of a comparison; empty if it is too long to be one, or stands for something else."""
    text = _BEFORE_SIDE.sub("", text.strip(" ,.;:?“”\"'"))
    if _NO_SIDE.search(text) or len(text.split()) > LONGEST_SUBJECT or not content_terms(text):
        return ""
    return text
