"""What a question asks for beyond one passage: a summary, a comparison, all of a list. Rules on its words, for English.

The rules are meant to miss rather than to be wrong: a question that is taken for ordinary is still answered from the
best passages. What a kind searches for is in `retrieval.plans`, how it is read in `services.kinds`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from pdfqa_core.text import content_terms, terms


class Kind(StrEnum):
    """What is asked for. SUMMARY: of documents; SECTION: of what they say on one subject."""

    ORDINARY = "ordinary"
    SUMMARY = "summary"
    SECTION = "section"
    COMPARISON = "comparison"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Request:
    """A recognised question.

    `subjects` are what is compared, or the subject of a summary (empty: everything asked about); `aspect` is in what
    respect things are compared (may be empty).
    """

    kind: Kind
    subjects: tuple[str, ...] = ()
    aspect: str = ""


ORDINARY = Request(Kind.ORDINARY)
LONGEST_SUBJECT = 9  # words of one side of a comparison

_POLITE = re.compile(
    r"^\W*(?:(?:and|so|ok|okay|hi|hello|then|now|also|please|kindly|just)\b\W*)*"
    r"(?:(?:can|could|would|will) (?:you|u)\b\s*(?:(?:please|briefly|quickly)\s+)*|(?:can|could|may) (?:i|we) (?:get|have|see) (?=an? |the )|"
    r"i(?: would|['’]d)? (?:like|want|need)(?: (?:you )?to(?: (?:see|know|have|get|read))?)?\s+|"
    r"(?:(?:give|show|tell|write|send|make|provide|get|prepare|create|generate)(?: (?:me|us))?(?: with)?\s+(?=\S)))*"
    r"(?:(?:please|briefly|quickly)\s+)*",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"(?:[\s,]+(?:please|thanks|thank you|for me|for us|briefly|in short|"
    r"in (?:an? |one |two |three |\d+ |simple |plain |few |your own |short )+"
    r"(?:sentences?|words?|paragraphs?|lines?|terms|language|bullet points|bullets|english|points)))*[\s?.!]*$",
    re.IGNORECASE,
)

# "this document", "the whole report", "these PDFs", "everything"; not "the annual report of 2021", which names something.
_WHOLE = (
    r"(?:(?:all|each|both|every one) (?:of )?)?(?:(?:the|this|that|these|those|my|our|your)\s+)?"
    r"(?:(?:whole|entire|full|complete|uploaded|attached|given|provided|above|long|pdf|selected)\s+)*"
    r"(?:documents?|docs?|pdfs?|files?|papers?|reports?|texts?|articles?|handbooks?|filings?|books?|brochures?|"
    r"manuals?|contracts?|thesis|study|leaflets?|materials?|contents?|publications?|10-[qk]s?)"
    r"(?: (?:files?|documents?|i (?:uploaded|added|attached)|here))?"
)
_THING = r"(?:short |brief |quick |concise |one[- ]paragraph |high[- ]level |general |executive |detailed |rough |simple )*"
_SUMMED = r"(?:summary|overview|outline|synopsis|abstract|gist|digest|recap|run[- ]?down|tl;?dr)"
_POINTS = (
    r"(?:(?:main|key|most important|central|essential|core|major|principal|primary)\s+(?:\w+ and (?:\w+ )?)?"
    r"(?:points?|topics?|findings?|ideas?|takeaways?|take-aways?|messages?|themes?|subjects?|conclusions?|results?|"
    r"sections?|parts?|contents?|facts?|things?)|highlights?|takeaways?)"
)
_AREAS = r"(?:topics?|subjects?|themes?|areas?|sections?|issues?|points?)"
_SUMMARY = tuple(
    re.compile(rf"^{pattern}$", re.IGNORECASE)
    for pattern in (
        rf"(?:briefly |quickly )?(?:summari[sz]e|sum up|outline|recap|describe|explain|review|introduce)"
        rf"(?: (?:it all|everything|(?:the (?:contents?|whole) of )?{_WHOLE}))(?: to (?:me|us))?",
        rf"(?:(?:an? |the )?{_THING}{_SUMMED}|(?:summari[sz]e|sum up)(?: (?:it|this)(?: all)?)?)(?: of (?:it|this|it all))?",
        rf"(?:what(?:['’]s| is| would be) )?(?:an? |the )?{_THING}{_SUMMED} (?:of|about|for|on) (?:it all|everything|"
        rf"(?:(?:the )?{_POINTS} (?:of|in|from) )?{_WHOLE})",
        rf"what(?:['’]?s| is| are|['’]re) {_WHOLE}(?: all)? about",
        rf"(?:me )?(?:about {_WHOLE}|what {_WHOLE} (?:(?:is|are)(?: all)? about|says?|covers?|contains?))",
        rf"what (?:do|does|is|are|did) {_WHOLE} (?:about|covers?|say|contain|talk about|discuss|deal with|tell us|describe|"
        r"describing|covering|discussing)",
        rf"what(?:['’]?s| is| are)(?: written)? in {_WHOLE}",
        rf"what (?:kind|type|sort) of (?:{_WHOLE}) (?:is|are) (?:this|it|that|these|they)",
        r".*[,.;:?!] ?(?:what(?:['’]?s| is) (?:it|this)(?: all)? about|summari[sz]e it)",
        rf"(?:what (?:are|were) )?(?:the |all the |all )?{_POINTS}(?: (?:of|in|from|made in|covered in|discussed in) {_WHOLE})?",
        rf"(?:what|which) {_AREAS} (?:do|does|are) {_WHOLE} (?:cover|discuss|about|deal with|contain|treat|address)(?:ed)?",
        rf"(?:what|which) {_AREAS} are (?:covered|discussed|treated|addressed|dealt with)(?: (?:in|by) {_WHOLE})?",
        rf"what (?:do|should|can) i (?:need to |have to )?(?:know|learn|expect) (?:about|from) {_WHOLE}",
        rf"what is the (?:main )?(?:topic|subject|purpose|point|message|idea|theme|content) of {_WHOLE}",
    )
)
_OF_SUBJECT = re.compile(
    rf"^(?:(?:briefly |quickly )?(?:summari[sz]e|sum up|recap|outline|(?:walk|take) (?:me|us) through)|(?:what(?:['’]s| is) )?(?:an? |the )?{_THING}{_SUMMED} of)\s+"
    r"(?P<subject>.+)$|^everything (?:that )?(?:\w+ )*?(?:about|on|says? (?:about|on)) (?P<all>.+)$",
    re.IGNORECASE,
)
_SECTION_OF = re.compile(
    r"^(?:what\s+.*?\bsays?\s+(?:about|on)\s+|(?:the )?(?:section|chapter|part|passage|paragraph)s?\s+(?:on|about|called|titled)\s+|"
    r"everything (?:about|on)\s+)|^(?:the|this|our|my|its)\s+",
    re.IGNORECASE,
)

_IN = (
    r"(?:,? (?P<link>in terms of|with (?:regard|respect) to|with regards to|regarding|concerning|when it comes to|"
    r"in regard to|as (?:to|for)|in relation to|on the (?:basis|subject|topic) of|in|for|on|about|under|when)\s+"
    r"(?P<aspect>.+))?"
)
_SIDES = r"(?P<a>.+?),? (?:and|vs\.?|versus|or)(?: (?:that|those|the one|the ones) of)? (?P<b>.+?)"
_DIFFERENT = r"(?:(?:main|key|biggest|major|exact|most important|essential|important|principal|primary|basic)\s+)*"
_NO_QUESTION = r"(?!(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|had|can)\b)"
_COMPARISON = tuple(
    re.compile(rf"^{pattern}{_IN}$", re.IGNORECASE)
    for pattern in (
        rf"(?:(?:do you know |(?:explain|describe|list)(?: (?:to )?me)? )?(?:what(?:['’]?s| is| are| were| was) )?"
        rf"(?:the |any |is there an? |are there )?{_DIFFERENT}"
        rf"(?:differences?|similarit(?:y|ies)|distinctions?|comparison|similarities and differences|"
        rf"differences and similarities)(?: in (?P<of>[\w\s,'’-]+?))? (?:between|of) (?:both )?{_SIDES})",
        rf"(?:how|where|in what way)s? (?:do|does|did|is|are|can|would) {_SIDES} (?:differ|compare|different|differ from each "
        r"other|compare (?:to|with) each other|compared|comparable)",
        r"(?:how|where|in what way)s? (?:do|does|did|is|are) (?P<a>.+?) (?:differ(?:ent)?|compare)"
        r"(?: from| to| with| against) (?:that of |those of )?(?P<b>.+?)",
        r"(?:compare|contrast|compare and contrast) (?:(?:the )?(?P<of>[\w\s,'’-]+?) (?:of|between) )?(?:both )?"
        r"(?P<a>.+?),? (?:and|with|to|vs\.?|versus|against|or) (?P<b>.+?)",
        r"(?:differentiate|distinguish)(?: between)? (?P<a>.+?) (?:and|from) (?P<b>.+?)",
        r"what (?:distinguishes|separates|sets) (?P<a>.+?)(?: apart)? from (?P<b>.+?)",
        rf"what (?:do|does) {_SIDES} have in common",
        rf"{_NO_QUESTION}(?:(?P<of>(?:\S+ ){{1,4}}?)of )?(?P<a>(?:\S+ ){{0,7}}?\S+),? "
        r"(?:vs\.?|versus|(?:as )?compared (?:to|with)|in comparison (?:to|with)) (?P<b>(?:\S+ ){0,7}\S+?)",
    )
)
_CHOICE = re.compile(
    r"^(?P<aspect>(?:which|who|what|where)\b[^,]+?)[,:;]\s*(?P<a>[^,]+?),? or (?P<b>.+)$", re.IGNORECASE
)
_BOTH = re.compile(
    r"^(?:are|is|were|was|do|does|did|have|has|had|can) (?:both )?(?P<a>.+?) and (?P<b>.+?) "
    r"(?P<aspect>(?:both|each|(?:in |of |from |at )?the same|(?:located|based|born|found|made) in the same)\b.*)$",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|will|would) (?P<a>.+?) "
    r"(?P<aspect>(?:(?:have|has|cost|offer|cover|pay|provide|give|get|be|take) )?(?:an? |the )?"
    r"(?:more|less|fewer|better|worse|\w{2,}(?<!numb)(?<!memb)(?<!ov)(?<!und)(?<!aft)(?<!ev)(?<!rath)(?<!oth)er)\b.*?)\s*than "
    r"(?:(?:that|those) of )?(?P<b>.+)$",
    re.IGNORECASE,
)
_NO_SIDE = re.compile(
    r"^(?:(?:each other|one another|it|them|this|that|these|those|they|two|both|there)$|"
    r"(?:others?|the others?|those|previous|its|their|the same|the rest|the previous)\b)|\b(?:what|how|why|which|whom?)\b",
    re.IGNORECASE,
)

_LIST = re.compile(
    r"^(?:(?:list|enumerate|name|itemi[sz]e|specify)(?: (?:out|down|up))?\s+(?:me\s+)?(?:all|every|each|any and all|everything)\b|"
    r"(?:list|enumerate|itemi[sz]e)(?: (?:out|down|up))?\s+(?:me\s+)?(?:(?:the|its|their|his|her|your|our|out)\s+)?(?!this\b|it\b|them\b|and\b)\w|"
    r"(?:what|who|which) (?:are|were) (?:all|each)(?: of)? (?:the|its|their|these|those|different)\b|"
    r"(?:an?|the) (?:(?:full|complete|entire|exhaustive|comprehensive|bullet(?:ed)?|bullet-point|numbered|short) )*list(?:ing)? of\b|"
    r"what(?:['’]s| is) (?:the|a) (?:full|complete|entire|exhaustive) list of\b|(?:write|note|put) down (?:all|every|each)\b|"
    r"what all (?:is|are|was|were|does|do)\b)|"
    r"[.?!,;:]\s*(?:please\s+)?(?:give|make|show|provide)(?: me)? (?:a|the) (?:full|complete|entire) list$|"
    r"[.?!,;:]\s*(?:please\s+)?(?:list|name|enumerate) (?:them|these|those|all|each|every one)(?: all| of them)?$",
    re.IGNORECASE,
)
_ALL = re.compile(r"^(?:all|every)\b(?: of\b)?(?: the\b| its\b| their\b)? \w", re.IGNORECASE)  # "Give me all …"


def recognised(question: str) -> Request:
    """Return what the question asks for; ORDINARY where no rule is sure."""
    plain = " ".join(question.split())
    asked = _ENDING.sub("", plain)
    bare = _POLITE.sub("", asked, count=1)
    for text in dict.fromkeys((asked, bare)):
        if any(pattern.match(text) for pattern in _SUMMARY):
            return Request(Kind.SUMMARY)
    if (found := _compared(bare)) or (found := _compared(asked)):
        return found
    if subject := _OF_SUBJECT.match(bare):
        about = _SECTION_OF.sub("", subject["subject"] or subject["all"])
        return Request(Kind.SECTION, (about,)) if content_terms(about) else ORDINARY
    if _LIST.search(bare) or (bare != asked and _ALL.match(bare)):
        return Request(Kind.LIST)
    return ORDINARY


def _compared(text: str) -> Request | None:
    """Return the comparison that a question asks for, None where it asks for none or its sides cannot be told."""
    for pattern in (*_COMPARISON, _CHOICE, _BOTH, _THAN):
        found = pattern.match(text)
        if found is None:
            continue
        parts = found.groupdict()
        link = parts.get("link")
        if link and re.search(rf"\b{link}\b", parts["a"], re.IGNORECASE):  # "sales in Europe with sales in Japan"
            parts |= {"b": f"{parts['b']} {link} {parts['aspect']}", "aspect": None}
        sides = tuple(_side(parts[name]) for name in ("a", "b"))
        if not all(sides) or terms(sides[0]) == terms(sides[1]):
            continue
        aspect = " ".join(part.strip() for part in (parts.get("of"), parts.get("aspect")) if part)
        return Request(Kind.COMPARISON, sides, aspect)
    return None


def _side(text: str) -> str:
    """Return one side of a comparison; empty if it is too long to be one, or stands for something else."""
    text = re.sub(r"^(?:(?:the|a|an|both|either|that of|those of)\s+)+", "", text.strip(" ,.;:?“”\"'"), flags=re.IGNORECASE)
    if _NO_SIDE.match(text) or len(text.split()) > LONGEST_SUBJECT or not content_terms(text):
        return ""
    return text
