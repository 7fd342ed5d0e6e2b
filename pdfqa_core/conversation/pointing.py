"""Words that lean on what was said before, by language: the rules of `relation` for questions that are not English."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Pointing:
    """What tells that a question goes on with the one before.

    `pointers` point back, `pronouns` among them stand for a thing; `empty` words carry no topic; `opening` is how such
    a question may begin; `compares` finds a comparison without saying with what; `unsaid` another thing that is left
    unsaid; `expletive` what only looks like a pronoun.
    """

    pointers: frozenset[str] = frozenset()
    pronouns: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    opening: re.Pattern[str] = _NEVER
    compares: re.Pattern[str] = _NEVER
    expletive: re.Pattern[str] = _NEVER
    unsaid: re.Pattern[str] = _NEVER


def _pointing(pronouns: str, others: str, empty: str, opening: str, compares: str, expletive: str = "(?!)") -> Pointing:
    without = r"(?!.*\b(?:als|que|di|dan|oder|und|et|ou|y|o|e|of|en)\b)"
    return Pointing(
        frozenset(f"{pronouns} {others}".casefold().split()), frozenset(pronouns.casefold().split()),
        frozenset(empty.casefold().split()),
        re.compile(rf"\s*(?:{opening})(?!\w)", re.IGNORECASE),
        re.compile(rf"\b(?:{compares})\b{without}", re.IGNORECASE), re.compile(expletive, re.IGNORECASE),
    )  # fmt: skip


POINTING = {
    "german": _pointing(
        "er ihn ihm sie ihr ihre ihren ihrer ihres ihnen sein seine seinen seiner seines es das dies diese diesen "
        "dieser dieses diesem",
        "dort da dafür davon dazu darin damit daran dabei darüber dessen deren derselbe dieselbe dasselbe denen jene "
        "jener jenes letztere erstere sonst stattdessen",
        "sag sagen nenne nennen zeig zeigen erklär erkläre erklären beschreib beschreibe heißt bedeutet bedeuten viel "
        "viele lange oft mehr gibt geht macht kostet gilt steht beispiel beispiele grund gründe unterschied bitte "
        "danke ja nein genau",
        r"und|aber|oder|also|dann|nein|ja|warum|wieso|weshalb|was ist mit|wie ist es mit|wie steht es mit",
        "besser|schlechter|billiger|teurer|schneller|langsamer|größer|kleiner|höher|niedriger|länger|kürzer|älter|neuer",
        r"\b(?:gibt|ist|sind|war|wird|geht) es\b|\bes (?:gibt|ist|sind|war|wird)\b"
        r"|\bdas (?=[A-ZÄÖÜ])|\b(?:die|der|dies\w*|ihr\w*|sein\w*) (?=[A-ZÄÖÜ])",
    ),
    "french": _pointing(
        "il ils elle elles lui leur leurs son sa ses ça cela ceci celui celle ceux celles le-y y en",
        "ce cet cette ces là même mêmes autre autres sinon alors",
        "dis donne montre explique décris signifie veut dire combien souvent plus exemple exemples raison raisons "
        "différence merci oui non coûte coûtent dure vaut faut",
        r"et|mais|ou|donc|alors|non|oui|pourquoi|qu['’]en est-il|et pour",
        "meilleure?s?|pires?|moins chère?s?|plus (?:rapide|grand|petit|long|court|cher)\\w*",
        r"\bil y a\b|\by a-t-il\b|\best-il (?:possible|vrai)\b|\bil (?:est|faut)\b|\bfaut-il\b"
        r"|\b(?:ce|cet|cette|ces|son|sa|ses|leurs?|en) (?=\w{5})",
    ),
    "spanish": _pointing(
        "él ella ello ellos ellas su sus suyo suya lo la esto eso aquello este esta ese esa estos estas esos esas",
        "allí ahí mismo misma mismos otro otra otros entonces",
        "di dime da muestra explica describe significa cuánto cuánta cuántos cuesta cuestan dura hay ejemplo ejemplos "
        "razón razones diferencia gracias sí no más",
        r"¿?\s*(?:y|pero|o|entonces|no|sí|por qué|qué (?:hay|pasa) (?:de|con))",
        "mejor(?:es)?|peor(?:es)?|más (?:barat|rápid|grande|pequeñ|larg|cort|car)\\w*|menos \\w+",
        r"\b(?:la|lo|su|sus|este|esta|ese|esa|estos|estas|esos|esas) (?=\w{4})|\bes (?:posible|cierto)\b",
    ),
    "italian": _pointing(
        "lui lei esso essa essi esse loro suo sua suoi sue lo questo questa quello quella ciò ne ci",
        "lì là stesso stessa stessi altro altra altri allora invece",
        "dimmi mostra spiega descrivi significa quanto quanta quanti costa costano dura esempio esempi ragione ragioni "
        "differenza grazie sì no più",
        r"e|ma|o|quindi|allora|no|sì|perché|che ne è di|e per",
        "migliore|migliori|peggiore|peggiori|più (?:economic|veloc|grand|piccol|lung|cort|car)\\w*|meno \\w+",
        r"\bc['’]è\b|\bci sono\b|\bè (?:possibile|vero)\b"
        r"|\b(?:lo|suo|sua|suoi|sue|loro|questo|questa|quello|quella) (?=\w{4})",
    ),
    "portuguese": _pointing(
        "ele ela eles elas dele dela deles delas seu sua seus suas isso isto aquilo este esta esse essa",
        "lá ali mesmo mesma mesmos outro outra outros então",
        "diga mostre explique descreva significa quanto quanta quantos custa custam dura há exemplo exemplos razão "
        "razões diferença obrigado obrigada sim não mais",
        r"e|mas|ou|então|não|sim|por que|porquê|e quanto a|que tal",
        "melhor(?:es)?|pior(?:es)?|mais (?:barat|rápid|pequen|long|curt|car)\\w*|maior(?:es)?|menor(?:es)?",
        r"\bé (?:possível|verdade)\b|\b(?:seu|sua|seus|suas|este|esta|esse|essa) (?=\w{4})",
    ),
    "dutch": _pointing(
        "hij hem zij ze hun hen haar zijn het dit dat deze die",
        "daar daarvan daarvoor daarin daarmee daarover ervan ervoor erin ermee erover dezelfde hetzelfde andere anders",
        "zeg noem toon leg uit beschrijf betekent betekenen veel vaak lang meer kost kosten geldt staat voorbeeld "
        "voorbeelden reden redenen verschil dank ja nee",
        r"en|maar|of|dus|dan|nee|ja|waarom|hoe zit het met|wat is er met",
        "beter|slechter|goedkoper|duurder|sneller|langzamer|groter|kleiner|hoger|lager|langer|korter|ouder|nieuwer",
        r"\b(?:is|zijn|was|waren|wordt) (?:er|het)\b|\bhet is\b|\b(?:het|dit|dat|deze|die|hun|haar|zijn) (?=\w{4})",
    ),
}  # fmt: skip
