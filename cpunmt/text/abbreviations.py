"""Words whose point does not end a sentence, by language: written for this project from common usage.

PREFIXES    what follows belongs to them, upper case or not: titles, ranks, "e.g."
NUMERIC     only before a number: "No. 7", "pp. 12", "Art. 5"

Words that may stand at the end ("etc.", "Inc.", "a.m.") are not here: before lower case no sentence begins anyway.
All are in lower case and without the last point. What a language does not list of its own, COMMON has for all.
"""

_COMMON = """
    mr mrs ms dr prof st sr jr e.g i.e cf vs viz approx resp incl ca al fig figs vol vols nos ed eds op dept univ
"""

_PREFIXES = {
    "en": """
        adj adm adv amb assoc asst ave bldg blvd brig bros bt capt cdr cmdr col comdr cpl cpt dr drs ens esq fr gen gov
        hon hosp hr lt ltc maj messrs mlle mm mme mr mrs ms msgr mt mx op ord pfc pres prof pvt rep reps res rev rt
        sen sens sfc sgt sr st supt surg univ e.g i.e vs v cf viz approx eg ie
        jan feb mar apr jun jul aug sep sept oct nov dec
    """,
    "de": """
        abb abk abs abschn abt allg anm anschl art asst aufl ausg az bd bde beil bes betr bez bsp bspw bzgl bzw ca chr
        d.h d.i d.j dgl dipl dipl.-ing dir dr dr.-ing ebd ehem eigtl einschl entspr erg ev evtl exkl fam fig forts fr
        frl geb gegr gem gen gest gez ggf ggfs gr hab herst hg hr hrn hrsg i.a i.d.r i.e i.v ing inkl insb insbes inst
        jap jh jhd jhdt jr kap kath kgl kl lat ll lt m.e m.w max med mind mio mr mrd mrs ms mtl müssten n.chr näml
        nat nördl nr o.a o.ä o.g obj op österr päd phil pol priv prof prot röm rd ref reg rel resp s.a s.o s.u sen
        sog sogen sr st std stellv str südl tab techn tel u.a u.ä u.u ung univ urspr usf u.s.w v.a v.chr verf verh vers
        vgl vgl.a vorm vors vs wg wiss z.b z.t z.zt z.hd zit zt zz zzgl zzt mag frhr graf hl gebr bgm lic rer oec
        jan feb mär apr jun jul aug sep sept okt nov dez mo di mi do fr sa so
    """,
    "fr": """
        m mm mme mmes mlle mlles dr drs pr me mes mgr st ste sts stes p.ex c.-à-d cf env éd vol fig art chap ch av apr
        j.-c bd boul tél hab prof gal cdt cap lt col sgt adj
    """,
    "es": """
        sr sra sres sras srta srtas d dª dña dr dra dres prof profa ud uds vd vds lic ing arq gral cnel cap tte sgto
        fr sto sta s p.ej ej pág págs núm art arts av avda c cap fig vol vols tel tfno depto prov pdte mons excmo excma
        ilmo ilma ee.uu
    """,
    "pt": """
        sr sra sres sras srta dr dra drs dras prof profa profs exmo exma ilmo ilma eng arq gen cel cap ten sgt fr pe d
        sto sta s p.ex ex pág págs núm art arts av r fig vol tel dept v.exa
    """,
    "it": """
        sig sigg sig.ra sig.na sig.re dott dott.ssa dr dr.ssa prof prof.ssa proff avv ing arch geom rag on sen gen col
        cap ten mons s ss sta p.es es pag pagg art artt cap fig vol tel v.le p.zza cfr ecc.mo
    """,
    "ca": "sr sra srs sres dr dra drs prof p.ex pàg pàgs núm art av fig vol tel st sta",
    "nl": """
        dhr mevr mw mej dr drs ir ing prof mr mrs ds kol lt kap gen bijv bv d.w.z dwz m.a.w m.b.t i.v.m m.i.v o.a o.l.v
        t.a.v t.g.v t.o.v n.a.v a.d.h.v enz.m evt excl incl jl ll vgl zgn z.g zog resp max min nr nrs blz pag art fig
        tel vs ca st
    """,
    "da": "hr fr frk dr prof mag cand kl ca bl.a f.eks fx osv.s evt mht jf dvs inkl ekskl nr tlf st vs mio mia pct",
    "nb": "hr fr frk dr prof kl ca bl.a f.eks jf dvs evt inkl ekskl mht nr tlf st vs mill mrd pkt",
    "sv": "hr fr frk dr prof kl ca bl.a t.ex d.v.s dvs jfr jmf inkl exkl nr tel st vs milj mdr s.k resp m.a.o f.d",
    "fi": "esim ks mm ns nk ts tms.n vrt prof tri dos maist huom puh kpl klo n s synt os",
    "is": "hr frú dr prof t.d þ.e a.m.k m.a s.s u.þ.b nr",
    "et": "hr pr prl dr prof nt s.t st näit vt lk nr tel u umb",
    "lv": "dr prof piem t.i t.s sk lpp nr tālr apm",
    "lt": "dr prof pvz t.y žr psl nr tel p g gyd gen doc habil m mln mlrd",
    "pl": """
        dr hab inż inz mgr prof doc lek med gen płk ppłk mjr kpt por ppor ks św sw o bp abp kard hr np tj tzn tzw m.in
        ww zob por ul al pl os nr str ryc tab rys art ust pkt poz wyd tel ok r w pt im
    """,
    "cs": """
        dr ing mgr bc judr mudr phdr rndr paeddr doc prof gen plk pplk mjr kpt por sv p pí např tj tzv tzn resp popř
        příp mj aj srov viz č čl odst str obr tab sv ul nám tel cca r stol
    """,
    "sk": """
        dr ing mgr bc judr mudr phdr rndr paeddr doc prof gen plk pplk mjr kpt por sv p napr tj tzv resp príp popr
        porov č čl ods str obr tab ul nám tel cca r stor
    """,
    "sl": "dr mag prof doc ing g ga gdč sv npr t.i tj oz oziroma prim gl str št čl tel ul",
    "hr": "dr mr prof doc ing gosp gđa gđica sv npr tj tzv odn usp str br čl tel ul o.g",
    "sr": "dr mr prof doc ing sv npr tj tzv odn str br čl tel ul др проф инж св нпр тј тзв стр бр чл ул",
    "hu": "dr prof ifj id özv gr br hg pl ún ill kb vö ld sz sz.a u köt old bek tel stb.n",
    "ro": "dl dlui d-l dna d-na dra dr prof conf ing arh gen col cpt lt sf ex d.ex nr art alin lit pag str bd tel cca",
    "ru": """
        г гг гр д доц инж им ин корп кв акад проф св см ср ст стр т т.е т.к т.н т.д.а ул пр просп пл пер наб р рис табл
        тел тов напр др.н б м н п обл респ англ нем фр лат
    """,
    "uk": """
        м р рр гр доц інж ім акад проф св див пор ст стор с т т.зв тобто вул просп пл пров наб обл рис табл тел напр
        англ нім фр лат
    """,
    "bg": "г г-н г-жа г-ца д-р проф доц инж акад св ул бул пл напр вж ср т.е т.нар с стр чл ал бр тел гр",
    "el": "κ κα κκ δρ καθ αγ π.χ δηλ βλ πρβλ σελ αρ εικ κεφ τηλ οδ λεωφ στρ",
    "tr": "dr prof doç yrd av müh sn bk bkz örn vb.g yy s sf no tel cad sok mah apt hz alb gen yzb",
    "ga": "an.t dr lch m.sh uimh",
}

_NUMERIC = {
    "en": "no nos nr art arts p pp sec secs ch chap fig figs eq eqs ref refs vol vols ex sect par para tab app",
    "de": "s seite z ziff rn rdnr kl",
    "fr": "n p pp",
    "es": "n p pp",
    "pt": "n p pp",
    "it": "n p pp",
    "nl": "p pp",
    "pl": "s",
    "cs": "s",
    "sk": "s",
    "ru": "с",
}

# Languages whose ordinal numbers have a point: "am 3. Oktober", "XIV. Jahrhundert".
ORDINALS = frozenset("de da nb nn no fi is et lv cs sk sl hr bs sr hu pl tr".split())

# Words that begin a sentence and never go on after initials ("U.S.") or an ordinal number ("am 3."): they decide.
_STARTERS = {
    "en": """
        the this that these those there he she it they we you a an in on at by for from but and or so if when while
        after before although as our his her its their my your what who how why where however meanwhile
    """,
    "de": """
        der die das dies diese dieser dieses den dem des ein eine einen einem einer er sie es wir ich ihr man im in am
        an auf aus bei mit nach von vor zu zum zur und aber doch auch als wenn da dann so was wer wie wo warum nun
        nicht noch für seine seit
    """,
}


def _words(text) -> frozenset[str]:
    return frozenset(text.split())


def prefixes(language: str | None) -> frozenset[str]:
    """Those of a language, as an ISO 639 code; of one that is not listed, or None, those that all share."""
    return _words(_COMMON) | _words(_PREFIXES.get(_base(language), ""))


def numeric(language: str | None) -> frozenset[str]:
    """Those that do not end a sentence before a number."""
    return _words("no nr p pp art fig vol") | _words(_NUMERIC.get(_base(language), ""))


def has_ordinals(language: str | None) -> bool:
    return _base(language) in ORDINALS


def starters(language: str | None) -> frozenset[str]:
    """Words that begin a sentence, whatever stands before."""
    return _words(_STARTERS.get(_base(language), ""))


def _base(language) -> str:
    code = (language or "").replace("_", "-").split("-")[0].lower()
    return {"no": "nb", "nn": "nb", "bs": "hr", "sh": "hr"}.get(code, code)
