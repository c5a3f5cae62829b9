"""Minimax polynomials by Remez's exchange, Cody-Waite constants, thresholds, and the bits of each format.

    >>> print(polynomials("f32")["exp2_polynomial_f32"])
    static inline __attribute__((always_inline)) f32v exp2_polynomial_f32(f32v x)
    {
        f32v y = splat_f32(0.000153515197f);
        y = fma_f32(y, x, splat_f32(0.00133988983f));
        y = fma_f32(y, x, splat_f32(0.00961844344f));
        y = fma_f32(y, x, splat_f32(0.0555033237f));
        y = fma_f32(y, x, splat_f32(0.240226477f));
        y = fma_f32(y, x, splat_f32(0.693147182f));
        return y;
    }
    <BLANKLINE>

Each polynomial is the best one of its degree by Remez's exchange: the largest error of the *result*, relative to the
result, is as small as can be. What is approximated, where s stands for x squared:

| name | function | on |
| --- | --- | --- |
| exp | (exp(x) - 1 - x) / s | half of ln 2 on both sides of 0 |
| exp2 | (2**x - 1) / x | 1/2 on both sides of 0 |
| log, log2, log10 | (log(1 + x) - x / ln(base)) / s | 1/3 on both sides of 0 |
| tanh (f64), sin, as functions of s | (tanh(x) - x) / x**3 | up to 0.56, and a quarter of pi |
| cos, as a function of s | (cos(x) - 1) / s | a quarter of pi |
| erf (f64), as a function of s | erf(x) / x - 1 | up to 0.925 |
| erf_far (f64) | -ln(1 - erf(x)) / x - 1 | 0.92 to where erf rounds to 1 |
"""

from __future__ import annotations

from typing import Final

from backends.cpu.vector.elements import ELEMENTS, INLINE

COEFFICIENTS: Final = {
    "f32": {
        "exp": """
            0.49999994 0.166665196 0.0416684151 0.00836876314 0.00138128293""",
        "exp2": """
            0.693147182 0.240226477 0.0555033237 0.00961844344 0.00133988983 0.000153515197""",
        "log": """
            -0.5 0.333332092 -0.249997109 0.200107768 -0.166825637 0.140006319 -0.121634714 0.140075803
            -0.129659846""",
        "log2": """
            -0.721347511 0.480896533 -0.360669583 0.288694471 -0.240678504 0.201986432 -0.175481796 0.202086657
            -0.187059626""",
        "log10": """
            -0.217147246 0.144764289 -0.108572364 0.0869057029 -0.0724514499 0.0608039759 -0.0528252833
            0.060834147 -0.0563105568""",
        "sin": """
            -0.166666666 0.00833332929 -0.000198393083 2.71808405e-06""",
        "cos": """
            -0.5 0.0416666456 -0.00138873153 2.44330822e-05""",
    },
    "f64": {
        "exp": """
            0.5000000000000011 0.16666666666666408 0.04166666666653004 0.008333333333498253
            0.0013888888943677517 0.0001984126949756649 2.4801493037415052e-05 2.755759510458431e-06
            2.763027402096638e-07 2.4997090470234527e-08""",
        "exp2": """
            0.6931471805599453 0.24022650695910072 0.05550410866482169 0.009618129107628326 0.001333355814639264
            0.00015403530393647303 1.525273385437474e-05 1.3215486589292484e-06 1.0178051915163813e-07
            7.054976650885418e-09 4.456574992512535e-10 2.562230408071703e-11""",
        "log": """
            -0.5 0.33333333333333154 -0.24999999999999162 0.20000000000077375 -0.16666666666879731
            0.14285714274082803 -0.12499999976009013 0.11111111975346946 -0.10000001472233844
            0.09090872290621439 -0.08333278791769314 0.07693273137529666 -0.07144142499627427
            0.06650574135728414 -0.06230338738538675 0.060523699609032554 -0.057490501183648485
            0.04172916160216424 -0.038318562201959255 0.08504112952060355 -0.08345552752243744""",
        "log2": """
            -0.721347520444481 0.4808983469629849 -0.3606737602226661 0.28853900817899736 -0.24044917339811553
            0.20609929137935362 -0.18033688753995514 0.16029946186857258 -0.14426914228358434 0.1311535518707731
            -0.12023512345300333 0.11099067979239884 -0.10285859590598168 0.09594517845507962
            -0.0923327654952452 0.08733293638431223 -0.06541952945128618 0.060143455942613396
            -0.12545044964734392 0.1227830331532822""",
        "log10": """
            -0.21714724095162571 0.14476482730108306 -0.10857362047594098 0.08685889638101302
            -0.07238241362544258 0.06204206879027642 -0.054286812474208565 0.04825494631123492
            -0.04342933927607368 0.03948115315097456 -0.03619437869171584 0.03341152385664815
            -0.03096352267958086 0.028882376654312522 -0.02779493199667706 0.026289833461092257
            -0.019693240667060366 0.018104984281621755 -0.03776434831338443 0.036961375937743006""",
        "tanh": """
            -0.3333333333333328 0.13333333333323943 -0.053968253962189995 0.021869488340448478
            -0.008863231850371097 0.0035920843757216736 -0.001455493143481741 0.0005882384052050599
            -0.0002328534544423766 8.255454602590045e-05 -1.902153545524733e-05""",
        "erf": """
            0.1283791670955126 -0.3761263890318371 0.11283791670952706 -0.026866170644608316
            0.005223977619589494 -0.0008548326635958026 0.00012055316671764645 -1.4925196854967393e-05
            1.6453661202210374e-06 -1.626095170656536e-07 1.3969396160210756e-08 -8.307429665089881e-10""",
        "erf_far": """
            0.12837919278058782 0.6366194513313654 0.10277447979356567 -0.01913527175793347
            -0.0001918640671682906 0.0016635339280084125 -0.0005426824177013287 -2.8411672943143036e-05
            0.0001141035701247577 -6.610227917972504e-05 2.4695371918899276e-05 -6.878926004487567e-06
            1.4842189763081586e-06 -2.4913538666862966e-07 3.2060026668211705e-08 -3.0610216927029348e-09
            2.04357485690198e-10 -8.510701728503044e-12 1.6627348125316357e-13""",
        "sin": """
            -0.16666666666666666 0.008333333333333322 -0.00019841269841254724 2.7557319214025045e-06
            -2.5052104871323182e-08 1.6058361803336587e-10 -7.578471806038516e-13""",
        "cos": """
            -0.5 0.041666666666666595 -0.001388888888887304 2.4801587288841428e-05
            -2.755731417624535e-07 2.087570041651541e-09 -1.1358513961745689e-11""",
    },
}
"""Coefficients of polynomials by type and name, the constant one first."""

CONSTANTS: Final = {
    "sign": ("0x80000000u", "0x8000000000000000ul"),
    "whole": ("0x1p23f", "0x1p52"),
    "shifter": ("0x1.8p23f", "0x1.8p52"),
    "shifter_bits": ("0x4b400000", "0x4338000000000000l"),
    "bias": ("127", "1023"),
    "mantissa": ("23", "52"),
    "least_normal": ("0x1p-126f", "0x1p-1022"),
    "up": ("0x1p23f", "0x1p52"),
    "inverse_most": ("0x1p126f", "0x1p1022"),
    "two_thirds_bits": ("0x3f2aaaab", "0x3fe5555555555555l"),
    "ln2_high": ("0x1.62e43p-1f", "0x1.62e42fefa39efp-1"),
    "ln2_low": ("-0x1.05c61p-29f", "0x1.abc9e3b39803fp-56"),
    "log2_e": ("0x1.715476p+0f", "0x1.71547652b82fep+0"),
    "log2_e_low": ("0x1.4ae0cp-26f", "0x1.777d0ffda0d24p-56"),
    "log10_e": ("0x1.bcb7b2p-2f", "0x1.bcb7b1526e50ep-2"),
    "log10_e_low": ("-0x1.5b235ep-27f", "0x1.95355baaafad3p-57"),
    "log10_2": ("0x1.344136p-2f", "0x1.34413509f79ffp-2"),
    "log10_2_low": ("-0x1.ec10cp-27f", "-0x1.9dc1da994fd21p-59"),
    "two_over_pi": ("0x1.45f306p-1f", "0x1.45f306dc9c883p-1"),
    "half_pi_1": ("0x1.921fb6p+0f", "0x1.921fb54442d18p+0"),
    "half_pi_2": ("-0x1.777a5cp-25f", "0x1.1a62633145c07p-54"),
    "half_pi_3": ("-0x1.ee59dap-50f", "-0x1.f1976b7ed8fbcp-110"),
    "turns_most": ("0x1p15f", "0x1p20"),
    "exp_least": ("-104.0f", "-746.0"),
    "exp_most": ("89.0f", "710.0"),
    "exp2_least": ("-151.0f", "-1076.0"),
    "exp2_most": ("129.0f", "1025.0"),
    "expm1_least": ("-18.0f", "-38.0"),
    "tiny": ("0x1p-26f", "0x1p-55"),
    "tanh_most": ("9.25f", "20.0"),
    "erf_most": ("3.95f", "5.93"),
}
"""Constants of f32 and of f64 by name. A number in parts is their sum; `up` makes subnormal numbers normal ones."""


def polynomials(element: str) -> dict[str, str]:
    """The polynomials of this type by the names of their functions."""
    numbers = {name: _literals(name, element) for name in COEFFICIENTS[element]}
    texts: dict[str, str] = {}
    for name, each in numbers.items():
        texts |= _polynomial(name, f"{element}v x", each, element)
    mask = ELEMENTS[element].mask
    chosen = [f"select_{element}(odd, {c}, {s})" for s, c in zip(numbers["sin"], numbers["cos"], strict=True)]
    return texts | _polynomial("sin_or_cos", f"{element}v x, {mask} odd", chosen, element)


def _literals(name: str, element: str) -> list[str]:
    suffix = "f" if element == "f32" else ""
    return [f"splat_{element}({number}{suffix})" for number in COEFFICIENTS[element][name].split()]


def _polynomial(name: str, parameters: str, numbers: list[str], element: str) -> dict[str, str]:
    """The function of a polynomial with these coefficients, by its name."""
    *others, highest = numbers
    steps = "".join(f"    y = fma_{element}(y, x, {number});\n" for number in reversed(others))
    return {
        f"{name}_polynomial_{element}": (
            f"{INLINE} {element}v {name}_polynomial_{element}({parameters})\n{{\n"
            f"    {element}v y = {highest};\n{steps}    return y;\n}}\n"
        )
    }
