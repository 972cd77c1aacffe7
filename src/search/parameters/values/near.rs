//! Values of `near`: a position, and the maximum distance from it (R4 Location, "near").

use super::escape;

/// The maximum distance in metres for a value of `near` without a distance.
const USUAL_DISTANCE: f64 = 50_000.0;
/// The mean radius of the Earth, in metres.
const EARTH: f64 = 6_371_008.8;

/// A position and the maximum distance from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearValue {
    latitude: f64,
    longitude: f64,
    metres: f64,
}

impl NearValue {
    /// Parses `latitude|longitude[|distance[|unit]]`. Latitude and longitude are in degrees. The unit is `km`, `m`,
    /// `[mi_us]`, `[mi_i]`, `mi`, `[nmi_i]`, `[ft_i]` or `[yd_i]`; the default is `km`.
    pub(crate) fn parse(text: &str) -> Option<NearValue> {
        let parts: Vec<String> = escape::split(text, '|').into_iter().map(escape::unescape).collect();
        let number = |at: usize| parts.get(at)?.parse::<f64>().ok().filter(|number| number.is_finite());
        if !(2..=4).contains(&parts.len()) {
            return None;
        }
        let unit = match parts.get(3).map_or("km", String::as_str) {
            "" | "km" => 1_000.0,
            "m" => 1.0,
            "[mi_us]" => 1_609.347_218_694_4,
            "[mi_i]" | "mi" => 1_609.344,
            "[nmi_i]" => 1_852.0,
            "[ft_i]" => 0.3048,
            "[yd_i]" => 0.9144,
            _ => return None,
        };
        let metres = match parts.get(2).map(String::as_str) {
            None | Some("") => USUAL_DISTANCE,
            Some(_) => number(2).filter(|distance| *distance >= 0.0)? * unit,
        };
        Some(NearValue {
            latitude: number(0).filter(|latitude| latitude.abs() <= 90.0)?,
            longitude: number(1).filter(|longitude| longitude.abs() <= 180.0)?,
            metres,
        })
    }

    /// Whether a position is within the distance, along the surface of a spherical Earth.
    pub(crate) fn is_near(&self, latitude: f64, longitude: f64) -> bool {
        let (here, there) = (self.latitude.to_radians(), latitude.to_radians());
        let across = (longitude - self.longitude).to_radians() / 2.0;
        let along = (there - here) / 2.0;
        let haversine = along.sin().powi(2) + here.cos() * there.cos() * across.sin().powi(2);
        2.0 * EARTH * haversine.sqrt().min(1.0).asin() <= self.metres
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_units() {
        // Boston and Cambridge are about 4.6 km apart, Boston and New York about 306 km.
        let near = |text: &str, latitude, longitude| NearValue::parse(text).unwrap().is_near(latitude, longitude);
        assert!(near("42.3601|-71.0589|5|km", 42.3736, -71.1097));
        assert!(!near("42.3601|-71.0589|4|km", 42.3736, -71.1097));
        assert!(near("42.3601|-71.0589|3|[mi_us]", 42.3736, -71.1097));
        assert!(near("42.3601|-71.0589", 42.3736, -71.1097));
        assert!(!near("42.3601|-71.0589||km", 40.7128, -74.0060));
        assert!(near("42.3601|-71.0589|310", 40.7128, -74.0060));
        assert!(near("0|179.99|5", 0.0, -179.99));
    }

    #[test]
    fn what_is_no_place() {
        for text in [
            "",
            "1",
            "91|0",
            "0|181",
            "1|1|-1",
            "1|1|x",
            "1|1|1|parsec",
            "1|1|1|km|x",
            "NaN|0",
        ] {
            assert_eq!(NearValue::parse(text), None, "{text}");
        }
    }
}
