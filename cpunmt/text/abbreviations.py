# ruff: noqa: RUF001, RUF002 - words in Cyrillic, Greek and other scripts
"""Words whose point does not end a sentence, by language: written for this project from common usage.

always      any following word belongs to them: titles, ranks, "e.g."
unless      the same, unless a word follows that begins sentences (starters): "Jr.", "St.", months
numbers     only before a number: "No. 7", "pp. 12", "Art. 5"
units       after a number they may end a sentence, elsewhere they are as those of `always`: "1990 г." but "г. Москва"

Words that may end a sentence ("etc.", "Inc.", "a.m.") are omitted, because a sentence never begins in lower case
anyway. Entries omit the last point. An entry in lower case also matches with a capital ("vgl", "Vgl"); an entry with a
capital matches only so ("Mag", because "mag" is a verb); with an equals sign in front it matches exactly ("=max",
because "Max" is a name). COMMON applies to all languages, and to texts in an unknown language.
"""

COMMON = {
    "always": "Mr Mrs Ms dr Drs Mgr vs cf e.g i.e approx",
    "unless": "prof St Jr Sr al",
    "numbers": "no nos nr nrs p pp vol vols fig figs art chap ch",
}

LANGUAGES = {
    None: {  # unknown language: abbreviations that are not words of another language
        "always": "Sens Rep Reps Gov Capt Cpt Cmdr Lt Sgt Cpl Pvt Mme Mmes Mlle bzw bspw ggf Mrd Mio vgl zzgl z.B u.a",
        "unless": "Sen Gen Jan Feb Sept Oct Nov Dec Okt Dez",
    },
    "en": {
        "always": """
            Messrs Mlle Mme Mmes Rev Hon Gen Col Maj Capt Cpt Cmdr Cdr Lt Sgt Cpl Pvt Pfc Adm Brig Gov Sen Sens Rep
            Reps Pres Amb Supt Insp Det Msgr Fr Mt Ft Lt.Col =v eg ie viz incl esp resp ca c.f
        """,
        "unless": """
            Esq Ave Blvd Bldg Rd Dept Univ Assn Assoc Bros Ph.D Ed eds
            Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
        """,
        "numbers": "op arts sec secs eq eqs ref refs ex sect para tab app pt ser bk cl ver =c",
        "starters": """
            the this that these those there here he she it they we you a an in on at by for from but and or so if when
            while after before although though as our his her its their my your what who how why where which with
            however meanwhile furthermore moreover nevertheless instead since then now yet no not one some many most
            all both during until according also even such another because despite today yesterday
        """,
    },
    "de": {
        "always": """
            abs abt allg anm anschl Ass asst aufl ausg bes betr Bez Bl bsp bspw bzgl bzw ca d.h d.i Dipl dipl.-ing Dir
            dr.-ing ebd ehem eigtl einschl entspr erg ev evtl exkl fam forts frl geb gegr gesch gest gez ggf ggfs Hr
            hrn hrsg Hg i.a i.d.R i.e.S i.V ing inkl insb insbes inst jap kath =kgl kl lat lt m.E m.W =max =med =min
            mind Mio Mrd Mill näml =nat nördl südl östl westl Nr Nrn o.ä o.g österr Päd =päd =phil pol priv röm resp
            s.a s.o s.u Sen sog sogen sr St std stellv Tab Tel Tsd u.a u.ä u.u =ung univ =urspr v.a h.c verh
            vgl vorm vors vs wg wiss z.B z.T z.Zt z.Hd z.Z zit zzgl zzt Mag Frhr Gebr Bgm Fr Hptm Mme Mlle =rer =oec
            =jur =habil =lic Abb Bd Bde Beil Dez Kap Ztr Hl bezügl unverh =schweiz =dt =engl =franz =griech =ital russ
            =span =amerik =evang led verw gegenw jährl monatl tägl wöchentl a.d a.M o.Univ Univ.-Prof ao Wwe Priv.-Doz
        """,
        "unless": """
            Co Chr Jan Feb Mär Mrz Apr Jun Jul Aug Sep Sept Okt Nov Mo Di Mi Do Sa jun sen Jh Jhd Jhdt Jahrh Str
        """,
        "numbers": "art s seite z ziff rn rdnr kl abschn anl ausf bez fig gr h hft jg lfg pos qu ser taf teilbd Geb",
        "starters": """
            der die das dies diese dieser dieses den dem des ein eine einen einem einer er sie es wir ich ihr man im in
            am an auf aus bei beim mit nach von vor zu zum zur und aber doch auch als wenn da dann so was wer wie wo
            warum nun nicht noch für seine seit sein ihre ihr jetzt hier dort damit deshalb daher dennoch jedoch
            allerdings außerdem zudem bis durch gegen ohne um unter über während weil obwohl sondern oder denn mein
            unser kein keine viele alle heute gestern morgen nur schon
        """,
        "before_ordinals": """
            der die das dem den des am im zum zur vom beim ans ein eine einen einem einer sein seinen seinem seine
            seiner ihr ihren ihrem ihre ihrer unser unseren unserem jeder jede jedes jeden jedem dieser diese dieses
            diesem diesen mein meinen meinem dein kein
        """,
    },
    "fr": {
        "always": "M MM Mme Mmes Mlle Mlles Dr Drs Me Mgr Pr p.ex c.-à-d Ste Sts Stes =cf env Mrs Gal Cdt Cne Sgt Adj",
        "unless": "av apr J.-C Col Cap Lt boul bd tél",
        "numbers": "n p pp vol fig art chap éd t l al",
        "starters": """
            le la les un une des il elle ils elles on nous vous je ce cette ces cet mais et ou où donc or car en dans
            pour par sur avec sans si quand comme après avant depuis son sa ses leur leurs qui que quoi pourquoi tout
        """,
    },
    "es": {
        "always": """
            sr sra sres sras srta srtas D Dª dña dra dres profa lic ing Arq Gral Cnel Cap Tte Sgto Fr Sto Sta p.ej
            Mons Excmo Excma Ilmo Ilma Avda Rvdo dir
        """,
        "unless": "Ud Uds Vd Vds EE.UU ee tel tfno depto prov pdte Av",
        "numbers": "pág págs núm núms art arts cap caps fig vol vols t c",
        "starters": """
            el la los las un una unos unas él ella ellos ellas yo nosotros usted este esta estos estas ese esa eso esto
            pero y o en de con sin por para si cuando como después antes desde su sus que qué quién no se lo más hoy
        """,
    },
    "pt": {
        "always": """
            sr sra srs sras srta D dr dra drs dras profa profs exmo Exma Ilmo Ilma Eng Arq Gen Cel Cap Ten Sgt Fr Pe
            Sto Sta p.ex v.Exa Mons
        """,
        "unless": "Av tel R",
        "numbers": "pág págs núm art arts cap fig vol n",
        "starters": """
            o a os as um uma ele ela eles elas eu nós você este esta estes estas esse essa isso isto mas e ou em no na
            de do da com sem por para se quando como depois antes desde seu sua que quem não hoje
        """,
    },
    "it": {
        "always": """
            sig sigg sig.ra sig.na sig.re dott dott.ssa dr.ssa prof.ssa proff avv ing arch geom Rag On Sen Gen Col Cap
            Ten Mons S SS p.es =cfr ecc.mo V.le P.zza
        """,
        "unless": "tel",
        "numbers": "pag pagg art artt cap fig vol n",
        "starters": """
            il lo la i gli le un uno una egli lui lei loro noi voi io questo questa questi queste quello ma e o in nel
            di del della con senza per se quando come dopo prima da dal suo sua che chi cosa non oggi
        """,
    },
    "ca": {"always": "sr sra srs sres dr dra p.ex", "numbers": "pàg pàgs núm art fig vol"},
    "gl": {"always": "sr sra sres D dna dr dra p.ex", "numbers": "páx núm art fig vol"},
    "nl": {
        "always": """
            dhr mevr mw mej drs ir ing mr mrs ds Kol Lt Kap Gen bijv =bv d.w.z m.a.w m.b.t i.v.m m.i.v o.a o.l.v
            t.a.v t.g.v t.o.v n.a.v a.d.h.v m.n evt excl incl =vgl z.g zog resp vs St
        """,
        "numbers": "nr nrs blz pag art fig tel",
        "starters": """
            de het een hij zij ze wij we ik jij u dit dat deze die maar en of in op aan bij met van voor naar als toen
            dan zo wat wie hoe waar waarom nu niet er ook zijn haar hun om na door over omdat
        """,
    },
    "af": {"always": "mnr mev mej Dr Ds bv =vgl"},
    "da": {
        "always": "hr fr frk dr prof =ca bl.a f.eks evt mht inkl ekskl dvs Sct Skt pga",
        "numbers": "kl nr tlf s",
        "starters": """
            den det de en et han hun vi jeg du man men og i på af til for med fra da når hvis så hvad hvem hvor
        """,
    },
    "nb": {
        "always": "hr fr frk dr prof =ca bl.a f.eks evt mht inkl ekskl dvs St pga",
        "numbers": "kl nr tlf s",
        "starters": """
            den det de en et han hun vi jeg du man men og i på av til for med fra da når hvis så hva hvem hvor
        """,
    },
    "sv": {
        "always": "hr fr frk dr prof =ca bl.a t.ex d.v.s dvs jfr inkl exkl s.k m.a.o f.d p.g.a St",
        "numbers": "kl nr tel s",
        "starters": """
            den det de en ett han hon vi jag du man men och i på av till för med från då när om så vad vem var
        """,
    },
    "is": {"always": "hr frú dr prof t.d þ.e a.m.k m.a u.þ.b", "numbers": "nr bls kl"},
    "fo": {"always": "hr dr t.d", "numbers": "nr kl"},
    "fi": {
        "always": "esim =ns =nk vrt prof toht tri dos maist mm =ks",
        "numbers": "s n klo nro puh",
        "starters": "se hän he me minä sinä tämä nämä nuo mutta ja tai että kun jos niin mikä kuka missä miksi ei on",
    },
    "et": {
        "always": "hr pr prl dr prof nt =st näit =vt",
        "numbers": "lk nr tel",
        "starters": "see ta tema nad me ma sa kuid aga ja või et kui siis mis kes kus miks ei on selle",
    },
    "lv": {
        "always": "dr prof piem t.i =sk apm",
        "numbers": "lpp nr tālr",
        "starters": "tas tā viņš viņa mēs es bet un",
    },
    "lt": {
        "always": "dr prof pvz =t.y =žr doc habil",
        "numbers": "p psl nr tel",
        "starters": "tai jis ji mes aš bet ir",
    },
    "pl": {
        "always": """
            dr hab inż =mgr prof doc Lek gen płk ppłk mjr kpt por ppor św bp abp kard np tj tzn tzw m.in =ww =zob ul
            =pl os Pt =im ks =al red
        """,
        "numbers": "nr str ryc tab rys art ust pkt poz s t r par rozdz godz ok tel",
        "starters": """
            to ten ta te ci on ona oni one my ja ty wy ale i a w we na z ze do od po o u za przez dla przy jak gdy kiedy
            jeśli jeżeli czy co kto gdzie dlaczego nie tak już jego jej ich był była było jest są
        """,
    },
    "cs": {
        "always": """
            dr ing =mgr Bc JUDr MUDr PhDr RNDr doc prof gen plk mjr kpt sv např tj tzv tzn resp popř =viz
            příp mj ul nám stol cca hl
        """,
        "numbers": "č čl odst str obr tab tel r s",
        "starters": """
            to ten ta on ona oni my já ty ale a v ve na z ze do od po o u za pro při jak když kdy co kdo kde ne
        """,
    },
    "sk": {
        "always": """
            dr ing =mgr Bc JUDr MUDr PhDr RNDr doc prof gen plk mjr kpt sv napr tj tzv tzn resp príp ul
            nám stor cca hl
        """,
        "numbers": "č čl ods str obr tab tel r s",
        "starters": """
            to ten tá on ona oni my ja ty ale a v vo na z zo do od po o u za pre pri ako keď kedy čo kto kde nie
        """,
    },
    "sl": {
        "always": "dr mag doc ing sv npr =t.i tj =oz =prim ga",
        "numbers": "št čl str tel",
        "starters": "to ta on ona oni mi jaz ti ali a in v na z s do od po o za pri kot ko če kaj kdo kje ne",
    },
    "hr": {
        "always": "dr mr prof doc ing sv npr tj tzv =odn =usp gđa gosp",
        "numbers": "br čl str tel",
        "starters": "to taj ta on ona oni mi ja ti ali a i u na s do od po o za pri kao kad ako što tko gdje ne",
    },
    "sr": {
        "always": "dr mr prof doc ing sv npr tj tzv =odn др проф инж св =нпр =тј =тзв",
        "numbers": "br čl str tel бр чл стр",
        "starters": """
            то тај он она они ми ја ти али а и у на с до од по за при као кад ако шта ко где не to taj on ona ali
        """,
    },
    "mk": {"always": "д-р проф св =пр", "numbers": "бр чл стр"},
    "bg": {
        "always": "г-н г-жа г-ца д-р проф доц инж акад св ул бул =напр =вж =т.е =т.нар",
        "numbers": "с стр чл ал бр",
    },
    "hu": {
        "always": "dr prof ifj =id özv =ún =ill =kb =vö =pl Szt =Sz",
        "numbers": "old tel",
        "starters": "az a ez egy ő ők mi én te de és vagy hogy ha amikor mert így mi ki hol miért nem is most itt ott",
    },
    "eu": {"always": "=adib", "numbers": "zk or"},
    "ro": {"always": "Dl Dlui d-l dna d-na dra conf arh =ex =d.ex Sf gen col", "numbers": "nr art alin lit pag str"},
    "sq": {"always": "z znj dr prof p.sh", "numbers": "nr f"},
    "ru": {
        "always": """
            гр доц инж кв акад проф св см =ср =ст =т.е =т.к =т.н =т.ч =в.т.ч ул просп пер наб =напр =др.-греч =англ =фр
            =лат =греч =исп =итал корп
        """,
        "unless": "им обл пр пл",
        "numbers": "с стр рис табл гл ч п пп д тел",
        "units": "г гг м р",
        "starters": """
            он она оно они мы я ты вы это этот эта эти тот но а и или в во на с со к ко от до по о об у за из для при
            без как когда если что кто где почему не так уже его её их был была было были потом затем тогда теперь
            однако поэтому
        """,
    },
    "uk": {
        "always": "гр доц інж ім акад проф св див =т.зв вул просп пров наб =напр =англ =нім =фр =лат",
        "unless": "обл пл",
        "numbers": "с стор ст рис табл п",
        "units": "р рр м",
        "starters": """
            він вона воно вони ми я ти ви це цей ця ці але а і й або в у на з до від по про за із для при як що потім
        """,
    },
    "be": {"always": "гр дац інж ім акад праф св =гл вул =напр", "numbers": "с мал табл", "units": "г гг"},
    "el": {
        "always": "κ κα κκ δρ καθ αγ =π.χ δηλ =βλ =πρβλ λεωφ =στρ οδ Αγ",
        "numbers": "σελ αρ εικ κεφ τηλ σ άρθρ τ",
        "starters": """
            ο η το οι τα του της των τον την στο στη στην ένας μια μία ένα αυτός αυτή αυτό και αλλά ή με για από σε αν
            όταν ότι πως πώς τι ποιος πού γιατί δεν θα να εγώ εσύ εμείς
        """,
    },
    "tr": {
        "always": "Dr Prof Doç Yrd Av Müh Sn bkz örn Alb Gen Yzb Hz Öğr",
        "unless": "vb Cad Sok Mah Apt",
        "numbers": "s sf no tel",
        "starters": "bu şu o bir ve ama fakat ben sen biz siz onlar ne kim nerede neden nasıl eğer çünkü çok daha",
    },
    "az": {"always": "Dr Prof məs", "numbers": "s səh"},
    "ga": {"always": "an.t Uas Lch M.sh", "numbers": "uimh lch"},
    "cy": {"always": "e.e h.y", "numbers": "rhif t"},
    "vi": {"always": "TS PGS GS ThS BS Tp TP", "numbers": "tr"},
    "id": {"always": "Bpk H Hj Ir Drs Prof Dr dll.i Jl Tn Ny Sdr", "numbers": "hlm hal no"},
    "ms": {"always": "Tn Pn Hj Dr Prof En Jln", "numbers": "hlm =ms no"},
    "eo": {"always": "s-ro s-ino d-ro prof ekz =t.e =k.a", "numbers": "p n-ro"},
    "ar": {"always": "د أ أ.د م.د", "numbers": "ص ج رقم ط"},
    "fa": {"always": "د", "numbers": "ص ج"},
    "hi": {
        "always": """
            डॉ डा प्रो श्री सुश्री पं रु ले मे ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू
            एक्स वाई जेड
        """,
        "numbers": "पृ सं नं क्र",
    },
    "mr": {
        "always": "डॉ डा प्रा श्री सौ पं रु उदा ए बी सी डी एफ जी एच जे एल एम एन पी आर एस टी यू व्ही वि ग ना",
        "numbers": "पृ क्र नं",
    },
    "ne": {"always": "डा प्रा श्री पं रु", "numbers": "पृ नं"},
    "bn": {"always": "ডা ড মো মোঃ প্রফে রা", "numbers": "পৃ নং"},
    "he": {"always": "ד פרופ", "numbers": "עמ"},
    "hy": {"always": "օր տես դոկտ պրոֆ", "numbers": "էջ հ"},
    "am": {"unless": "ዓ.ም ዓ.ዓ"},
    "ko": {},
}

# Abbreviations that may end a sentence, for scripts that do not show a capital of the next word.
MAY_END = "etc usw uvm inc ltd corp co llc plc bros ecc osv itd itp atd др dgl enz"

# Languages whose ordinal numbers have a point: "am 3. Oktober", "XIV. Jahrhundert".
ORDINALS = "de lb da nb fo fi is et lv cs sk sl hr sr mk hu pl tr az eu"

SAME = {"no": "nb", "nn": "nb", "bs": "hr", "sh": "hr", "cnr": "hr", "iw": "he", "ps": "ar", "in": "id"}
