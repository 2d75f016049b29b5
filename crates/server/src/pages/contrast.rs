//! Checks the contrast of the stylesheet's colours, computed from its text (WCAG 2.2 AA).

use std::collections::HashMap;

const STYLE: &str = include_str!("assets/style.css");

/// Linear red, green and blue.
type Colour = [f64; 3];

/// The colour tokens of both themes.
fn themes() -> [HashMap<String, Colour>; 2] {
    let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let dark = dark.split_once("/* The ground */").unwrap().0;
    let mut base = tokens(light);
    let light = base.clone();
    base.extend(tokens(dark));
    [light, base]
}

fn tokens(text: &str) -> HashMap<String, Colour> {
    let mut tokens = HashMap::new();
    for line in text.lines() {
        let Some((name, rest)) =
            line.trim().strip_prefix("--").and_then(|l| l.split_once(": oklch("))
        else {
            continue;
        };
        let numbers: Vec<f64> =
            rest.trim_end_matches(");").split(' ').map(|number| number.parse().unwrap()).collect();
        tokens.insert(name.to_owned(), linear(numbers[0], numbers[1], numbers[2]));
    }
    tokens
}

/// OKLCH to linear sRGB, as the CSS colour module defines it.
fn linear(lightness: f64, chroma: f64, hue: f64) -> Colour {
    let (a, b) = (chroma * hue.to_radians().cos(), chroma * hue.to_radians().sin());
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.map(|part| part.clamp(0.0, 1.0));
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Pairs of foreground and background, and the contrast that the design measured in light and dark.
const PAIRS: &[(&str, &str, f64, f64)] = &[
    ("text", "surface", 16.7, 15.1),
    ("text-2", "sunken", 7.6, 8.6),
    ("text-3", "bg", 5.2, 6.8),
    ("text-3", "sunken", 4.9, 5.7),
    ("text-3", "accent-soft", 4.8, 5.1),
    ("accent", "surface", 7.2, 8.4),
    ("green", "green-soft", 6.3, 8.0),
    ("amber", "amber-soft", 6.1, 8.3),
    ("red", "red-soft", 6.0, 6.7),
    ("violet", "violet-soft", 6.7, 7.4),
    ("green-mark", "surface", 4.4, 8.1),
    ("amber-mark", "surface", 4.1, 9.0),
    ("red-mark", "surface", 5.1, 6.2),
    ("violet-mark", "surface", 5.5, 7.3),
    ("accent-mark", "surface", 5.7, 6.6),
    ("control", "surface", 3.6, 3.8),
    ("control", "sunken", 3.3, 3.5),
    ("control", "accent-soft", 3.2, 3.1),
    ("focus", "bg", 5.5, 9.0),
    ("green-mark", "amber-soft", 3.9, 6.5),
];

#[test]
fn measured_contrast_holds_in_both_themes() {
    let [light, dark] = themes();
    for (on, under, in_light, in_dark) in PAIRS {
        for (theme, wanted) in [(&light, in_light), (&dark, in_dark)] {
            let found = contrast(theme[*on], theme[*under]);
            assert!((found - wanted).abs() < 0.1, "{on} on {under}: {found:.2}, not {wanted}");
        }
    }
    for (theme, wanted) in [(&light, 7.2), (&dark, 5.0)] {
        let found = contrast([1.0; 3], theme["accent-fill"]);
        assert!((found - wanted).abs() < 0.1, "white on accent-fill: {found:.2}, not {wanted}");
    }
}

/// Text needs 4.5, marks and the borders of fields need 3, on every surface.
#[test]
fn every_text_and_mark_is_readable_on_every_surface() {
    let [light, dark] = themes();
    for theme in [&light, &dark] {
        for under in ["bg", "surface", "sunken", "hover"] {
            for on in ["text", "text-2", "text-3", "accent", "green", "amber", "red", "violet"] {
                let found = contrast(theme[on], theme[under]);
                assert!(found >= 4.5, "{on} on {under}: {found:.2}");
            }
            for on in
                ["control", "accent-mark", "green-mark", "amber-mark", "red-mark", "violet-mark"]
            {
                let found = contrast(theme[on], theme[under]);
                assert!(found >= 3.0, "{on} on {under}: {found:.2}");
            }
        }
    }
}
