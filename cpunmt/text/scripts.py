"""Scripts of the world as ranges for character classes of `re`. Blocks are those of Unicode 15."""

SOUTHEAST_ASIAN = (  # Thai, Lao, Tibetan, Burmese, Khmer, Tai Lue and Tham, Javanese, Myanmar Extended-A
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aad\ua980-\ua9ff\uaa60-\uaadf"
)
EAST_ASIAN = (  # ideographs, their radicals and numbers, kana, bopomofo, Yi
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
EAST_ASIAN_MARKS = "\u3000-\u3004\u3008-\u303f\ufe30-\ufe4f\uff01-\uff65"  # and full-width letters and digits
HANGUL = "\uac00-\ud7a3"

UNSPACED = SOUTHEAST_ASIAN + EAST_ASIAN  # written without spaces between words

LETTER = r"[^\W\d_]"
