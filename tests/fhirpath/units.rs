//! Quantities with units: UCUM's, calendar units, and those of records.

use super::functions::check;

#[test]
fn quantities_compare_in_any_unit_of_their_kind() {
    check(&[
        ("4.0000 'g' = 4000.0 'mg'", "true"),
        ("1 'kg' = 1000.000000000000000001 'g'", "false"),
        ("1 '[in_i]' = 2.54 'cm'", "true"),
        ("5 'mg/dL' = 0.05 'g/L'", "true"),
        ("0 'Cel' = 32 '[degF]'", "true"),
        ("37.5 'Cel' > 99 '[degF]'", "true"),
        ("1 '[iU]/mL' = 1000 '[IU]/L'", "true"),
        ("1 '[iU]' = 1 'mg'", ""),
        ("3 'kg{dry}' = 3000 'g{wet}'", "true"),
        ("2 '{score}' = 2 '1'", "true"),
        ("1 'bottles' = 1 'bottles'", "true"),
        ("1 'bottles' = 1 'g'", ""),
        ("1 'bottles' ~ 1 'g'", "false"),
        ("7 '[pH]' = 100 'nmol/L'", "true"),
        ("4 'kg' ~ 4010 'g'", "true"),
        ("1 'm' < 1 's'", ""),
        ("(1 'cm').comparable(1 '[in_i]')", "true"),
        ("(1 'cm').comparable(1 'g')", "false"),
    ]);
}

#[test]
fn calendar_units_are_those_of_ucum_up_to_weeks() {
    check(&[
        ("1 week = 7 'd'", "true"),
        ("1 minute = 60 's'", "true"),
        ("1 year = 12 months", "true"),
        ("1 year = 1 'a'", ""),
        ("1 year ~ 1 'a'", "true"),
        ("1 month ~ 1 'mo'", "true"),
        ("1 year = 365 days", ""),
        ("1 year.toQuantity('days')", r#"{"value":365,"unit":"day"}"#),
    ]);
}

#[test]
fn quantities_are_computed_with_in_common_units() {
    check(&[
        ("(1 'kg' + 250 'g') = 1.25 'kg'", "true"),
        ("(3 'g' / 1.5 'mL') = 2 'g/mL'", "true"),
        ("(6 'g' / (2 'g/L')) = 3 'L'", "true"),
        ("(6 'm' / (2 'm/s')) = 3 's'", "true"),
        ("(2 'cm' * 3 'm') = 0.06 'm2'", "true"),
        ("(1 'm' / 50 'cm') = 2", "true"),
        ("(1 'g' + 1 'm')", ""),
        ("1 'cm' + 1 'mm'", r#"{"value":11,"unit":"mm"}"#),
        ("1 'mm' + 1 'cm'", r#"{"value":11,"unit":"mm"}"#),
        ("1 'cm' - 1 'mm'", r#"{"value":9,"unit":"mm"}"#),
        ("1 year + 1 month", r#"{"value":13,"unit":"month"}"#),
        ("3 'min' + 30 seconds", r#"{"value":210,"unit":"second"}"#),
        ("-(1 'g') < 0 'mg'", "true"),
        ("10.log(0) | 10.log(1) | 10.log(-2)", ""),
    ]);
}

#[test]
fn a_quantity_is_asked_for_in_a_unit() {
    check(&[
        ("(70.50 'kg').toQuantity('g') = 70500 'g'", "true"),
        ("'1.5 \\'h\\''.toQuantity('min') = 90 'min'", "true"),
        ("(1 'kg').toQuantity('m')", ""),
        ("(1 'kg').convertsToQuantity('g')", "true"),
        ("(1 'kg').convertsToQuantity('m')", "false"),
        ("3 days.toQuantity('hours') = 72 hours", "true"),
        ("'4days'.toQuantity() = 4 days", "true"),
        ("'4 \\'mg'.toQuantity()", ""),
        ("(98.6 '[degF]').toQuantity('Cel') = 37 'Cel'", "true"),
        ("extension.value.toQuantity('g') = 70500 'g'", "true"),
    ]);
}
