"""The words and phrases that `lexicon` counts: our own, English, lower case, straight apostrophes. Pure.

Entries are divided by semicolons. Changing a list changes what the lexical baseline rates: say so in the changelog.
"""

from collections.abc import Mapping
from functools import cache

_LISTS: Mapping[str, str] = {
    "invitations": """
        tell me more; tell me about; say more; go on; take your time; i'm listening; i am listening;
        i'm here to listen; i'd like to hear; i would like to hear; i'd love to hear; feel free to share;
        walk me through; if you want to talk; if you'd like to talk; talk to me; i'm all ears; i wonder;
        help me understand
    """,
    "advice": """
        you should; you shouldn't; you could; you might want to; you may want to; you need to; you have to;
        you ought to; you must not; you'd better; you had better; have you considered; have you tried;
        have you thought about; why don't you; why not; how about; what about trying; i suggest; i'd suggest;
        i would suggest; i recommend; i'd recommend; i would recommend; my advice; if i were you;
        it might help to; it may help to; it could help to; it can help to; it helps to; it would be good to;
        it's important to; it is important to; make sure; be sure to; try to; try not to; the best thing
    """,
    "imperatives": """
        ask; avoid; be; breathe; call; change; check; choose; come; consider; eat; find; focus; forget; get; give;
        go; ignore; join; keep; learn; leave; let; list; look; make; meet; move; never; plan; practice; practise;
        put; quit; reach; read; remember; rest; save; see; seek; send; set; sleep; speak; spend; start; stay;
        stop; take; talk; tell; think; try; use; visit; wait; walk; work; write
    """,
    "first_person": """
        i; me; my; mine; myself; i'm; i've; i'd; i'll
    """,
    "validation": """
        makes sense; make sense; make perfect sense; understandable; understandably; it's normal; it is normal;
        is normal; are normal; natural to feel; it's natural; it is natural; of course you; no wonder;
        anyone would; anybody would; anyone in your; anyone whose; who wouldn't; i would feel; i'd feel;
        i would be; i'd be; every right; it's okay to; it is okay to; it's ok to; it's alright to;
        it's all right to; your feelings; valid; i can see why; i see why; i get why; i get that;
        i can understand why; i understand why; don't blame you; that must; must have been; must be; that sounds;
        it sounds; sounds like; can be hard; can be tough; that's hard; that is hard; that's tough; that is tough;
        that's rough; it's hard; it is hard; it's tough; it's not easy; so hard
    """,
    "concern": """
        i'm sorry; i am sorry; so sorry; sorry to hear; sorry for; sorry that; sorry about; i feel for you;
        my heart; heartbreaking; it saddens me; makes me sad; sad to; i'm sad; i'm worried; i am worried;
        worried about you; concerned about you; i hope; hope you; hope things; hope it; i wish; wish you; sending;
        hugs; hug; love; condolences; thinking of you; i care; care about you; i'm here for you;
        i am here for you; here for you; here if you; not alone; glad; happy for you; proud of you; hang in there;
        take care; stay strong; bless; dear; thank you for sharing; thanks for sharing; good luck; best of luck;
        congratulations; wonderful; awesome; great
    """,
    "dismissal": """
        at least; could be worse; could have been worse; have it worse; has it worse; don't worry; do not worry;
        don't be sad; don't be upset; don't be silly; don't cry; calm down; cheer up; get over it; move on;
        let it go; big deal; no big deal; not that bad; not so bad; not the end of the world; bright side;
        look at it this way; look on the; overreacting; overreact; exaggerating; too much of it; too sensitive;
        being dramatic; come on; it's nothing; it was nothing; it's only; it was only; it was one; it's just a;
        just relax; relax; snap out; toughen up; man up; suck it up; forget about it; everyone has; everybody has;
        everyone goes through; happens to everyone; happens to everybody; happens to all of us; you'll be fine;
        you will be fine; you're fine; nobody cares; nobody remembers; not a problem; whatever; so what
    """,
    "understanding": """
        so you; so your; it sounds like; sounds like; it sounds as if; sounds as if; it seems like; seems like;
        it seems that; it looks like; you feel; you're feeling; you are feeling; you felt; you must; you mean;
        you seem; you wanted; you were; you've been; you have been; you're saying; you are saying; you said;
        you mentioned; what i hear; i hear you; i'm hearing; i can imagine; i imagine; i can tell; i can see;
        i can hear; i understand; i know what; i know how; i know that feeling; i've been there;
        i have been there; been through; i went through; the same thing happened; that must; must have; must be;
        got that right; did i get; in other words; if i understand
    """,
    "feelings": """
        afraid; alone; angry; anger; annoyed; annoying; anxious; anxiety; ashamed; awful; awkward; betrayed;
        bitter; bored; broken; confused; confusing; crushed; depressed; depressing; desperate; devastated;
        devastating; difficult; disappointed; disappointing; disappointment; embarrassed; embarrassing; excited;
        exciting; exhausted; exhausting; fear; feel; feeling; feelings; frightened; frustrated; frustrating;
        frustration; furious; grateful; grief; guilt; guilty; happy; hard; helpless; hopeful; hopeless; horrible;
        hurt; hurtful; hurts; insecure; isolated; jealous; joy; lonely; loneliness; loss; lost; loved; mad;
        miserable; miss; nervous; nervousness; overwhelmed; overwhelming; pain; painful; panic; proud; relief;
        relieved; sad; sadness; scared; scary; shame; shocked; shocking; sorrow; stress; stressed; stressful;
        surprised; terrible; terribly; terrified; terrifying; tired; tough; troubled; uncomfortable; unhappy;
        upset; upsetting; worried; worry; worrying
    """,
    "empty": """
        a; about; after; again; all; also; am; an; and; any; are; aren't; as; at; be; because; been; before;
        being; but; by; can; can't; could; couldn't; did; didn't; do; does; doesn't; doing; don't; down; even;
        for; from; get; go; going; got; had; has; have; haven't; having; he; her; here; hers; him; his; how; i;
        i'd; i'll; i'm; i've; if; in; into; is; isn't; it; it's; its; just; know; let; like; me; more; most; much;
        my; myself; no; not; now; of; off; oh; ok; okay; on; one; only; or; other; our; out; over; own; really;
        she; should; so; some; such; than; that; that's; the; their; them; then; there; there's; these; they;
        they're; thing; things; think; this; those; to; too; up; us; very; was; wasn't; we; well; were; what;
        what's; when; where; which; while; who; why; will; with; won't; would; yeah; yes; you; you'd; you'll;
        you're; you've; your; yours
    """,
}


@cache
def entries(name: str) -> frozenset[str]:
    """The words and phrases of a list. Raises KeyError for a list that is not there."""
    return frozenset(" ".join(entry.split()) for entry in _LISTS[name].split(";"))
