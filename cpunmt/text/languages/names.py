"""The languages that cpunmt knows by name: their codes and English names.

Each entry is the code that cpunmt uses, ISO 639's other codes of the language, and its name. Where models have the code
of a variant for the whole language, as arb for Arabic, it is listed here.
"""

ENTRIES = """ace Acehnese; af/afr Afrikaans; ak/aka Akan; sq/sqi/alb/als Albanian; am/amh Amharic; apc Levantine Arabic;
ajp South Levantine Arabic; ar/ara/arb Arabic; acm Mesopotamian Arabic; acq Taizzi-Adeni Arabic; aeb Tunisian Arabic;
ars Najdi Arabic; ary Moroccan Arabic; arz Egyptian Arabic; hy/hye/arm Armenian; as/asm Assamese; ast Asturian;
awa Awadhi; ay/aym/ayr Aymara; az/aze/azj Azerbaijani; azb South Azerbaijani; ban Balinese; bm/bam Bambara;
bjn Banjar; ba/bak Bashkir; eu/eus/baq Basque; be/bel Belarusian; bem Bemba; bn/ben Bengali; bho Bhojpuri;
bs/bos Bosnian; br/bre Breton; bug Buginese; bg/bul Bulgarian; my/mya/bur Burmese; yue Cantonese; ca/cat Catalan;
ceb Cebuano; tzm Central Atlas Tamazight; ckb Central Kurdish; hne Chhattisgarhi; zh Chinese;
zt Chinese (traditional); cjk Chokwe; crh Crimean Tatar; hr/hrv Croatian; cs/ces/cze Czech; da/dan Danish; prs Dari;
dik Dinka; nl/nld/dut Dutch; dyu Dyula; dz/dzo Dzongkha; en/eng English; eo/epo Esperanto; et/est/ekk Estonian;
ee/ewe Ewe; fo/fao Faroese; fj/fij Fijian; fil Filipino; fi/fin Finnish; fon Fon; fr/fra/fre French; fy/fry Frisian;
fur Friulian; ff/ful/fuv Fulah; gl/glg Galician; lg/lug Ganda; ka/kat/geo Georgian; de/deu/ger German;
el/ell/gre Greek; gn/grn Guarani; gu/guj Gujarati; ht/hat Haitian Creole; ha/hau Hausa; he Hebrew; hi/hin Hindi;
hu/hun Hungarian; is/isl/ice Icelandic; ig/ibo Igbo; ilo Ilocano; id Indonesian; ga/gle Irish; it/ita Italian;
ja/jpn Japanese; jv/jav/jw Javanese; kbp Kabiye; kea Kabuverdianu; kab Kabyle; kac Kachin; kam Kamba; kn/kan Kannada;
kr/kau/knc Kanuri; ks/kas Kashmiri; kk/kaz Kazakh; km/khm Khmer; ki/kik Kikuyu; kmb Kimbundu; rw/kin Kinyarwanda;
kg/kon Kongo; ko/kor Korean; ku/kur/kmr Kurdish; ky/kir Kyrgyz; lo/lao Lao; ltg Latgalian; lv/lav/lvs Latvian;
lij Ligurian; li/lim Limburgish; ln/lin Lingala; lt/lit Lithuanian; lmo Lombard; lua Luba-Kasai; luo Luo;
lb/ltz Luxembourgish; mk/mkd/mac Macedonian; mag Magahi; mai Maithili; mg/mlg/plt Malagasy; ms/msa/may/zsm Malay;
ml/mal Malayalam; mt/mlt Maltese; mni Manipuri; mi/mri/mao Maori; mr/mar Marathi; min Minangkabau; lus Mizo;
mn/mon/khk Mongolian; mos Mossi; ne/nep/npi Nepali; nso/ns Northern Sotho; nb Norwegian; nn/nno Norwegian Nynorsk;
nus Nuer; ny/nya Nyanja; oc/oci Occitan; or/ori/ory Odia; om/orm/gaz Oromo; pag Pangasinan; pap Papiamento;
ps/pus/pbt Pashto; fa/fas/per/pes Persian; pl/pol Polish; pt Portuguese; pb Portuguese (Brazil); pa/pan Punjabi;
qu/que/quy Quechua; ro/ron/rum Romanian; rn/run Rundi; ru/rus Russian; sm/smo Samoan; sg/sag Sango; sa/san Sanskrit;
sat Santali; sc/srd Sardinian; gd/gla Scottish Gaelic; sr/srp Serbian; shn Shan; sn/sna Shona; scn Sicilian;
szl Silesian; sd/snd Sindhi; si/sin Sinhala; sk/slk/slo Slovak; sl/slv Slovenian; so/som Somali; st/sot Southern Sotho;
es/spa Spanish; su/sun Sundanese; sw/swa/swh Swahili; ss/ssw Swati; sv/swe Swedish; tg/tgk Tajik; taq Tamasheq;
ta/tam Tamil; tt/tat Tatar; te/tel Telugu; th/tha Thai; bo/bod/tib Tibetan; ti/tir Tigrinya; tpi Tok Pisin;
ts/tso Tsonga; tn/tsn Tswana; tum Tumbuka; tr/tur Turkish; tk/tuk Turkmen; tw/twi Twi; uk/ukr Ukrainian; umb Umbundu;
ur/urd Urdu; ug/uig Uyghur; uz/uzb/uzn Uzbek; vec Venetian; vi/vie Vietnamese; war Waray; cy/cym/wel Welsh;
wo/wol Wolof; xh/xho Xhosa; yi/yid/ydd Yiddish; yo/yor Yoruba; zu/zul Zulu"""
