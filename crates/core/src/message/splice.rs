//! Replacing one member of an object, without parsing the others.

use bytes::Bytes;

use crate::message::{
    Params,
    scan::{Fault, JsonText},
};

impl Params {
    /// Returns the object with another value for one member, which is added if it is missing. The text of all other
    /// members stays as it is.
    ///
    /// ```
    /// use couplet_core::{JsonText, message::Params};
    ///
    /// let params = Params::from_text(JsonText::new(r#"{"name":"a__b", "arguments":{"x":1.0}}"#)?)?;
    /// let params = params.with("name", &JsonText::new(r#""b""#)?)?;
    /// assert_eq!(params.text().as_str(), r#"{"name":"b", "arguments":{"x":1.0}}"#);
    /// assert_eq!(params.get("arguments").unwrap().as_str(), r#"{"x":1.0}"#);
    /// # Ok::<(), couplet_core::Fault>(())
    /// ```
    ///
    /// # Errors
    /// If the object would have too many members.
    pub fn with(&self, key: &str, value: &JsonText) -> Result<Self, Fault> {
        let old = self.text.as_bytes();
        let Some(place) = self.members.get(old, key).filter(|_| key != "_meta") else {
            return self.added(key, value);
        };
        let new = value.as_bytes();
        let mut text = Vec::with_capacity(old.len() - place.len() + new.len());
        text.extend_from_slice(&old[..place.start]);
        text.extend_from_slice(new);
        text.extend_from_slice(&old[place.end..]);
        let members = self.members.resized(&place, new.len());
        Ok(Self { text: JsonText::trusted(text.into()), members, meta: self.meta.clone() })
    }

    /// Returns the object without one member.
    ///
    /// # Errors
    /// If the object is nested too deeply.
    pub fn without(&self, key: &str) -> Result<Self, Fault> {
        if !self.has(key) {
            return Ok(self.clone());
        }
        Self::from_text(self.rewritten(key, None))
    }

    fn added(&self, key: &str, value: &JsonText) -> Result<Self, Fault> {
        Self::from_text(self.rewritten(key, Some(value)))
    }

    /// All members but one, which has its new value at the end.
    fn rewritten(&self, replaced: &str, value: Option<&JsonText>) -> JsonText {
        let mut text = Vec::with_capacity(self.size() + value.map_or(0, |value| value.as_bytes().len()));
        text.push(b'{');
        for member in self.entries().filter(|member| *member.key != *replaced.as_bytes()) {
            crate::wire::append_member(&mut text, member.text());
        }
        if let Some(value) = value {
            crate::wire::separate(&mut text);
            crate::wire::write_json(&mut text, replaced);
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        }
        text.push(b'}');
        JsonText::trusted(Bytes::from(text))
    }
}

impl JsonText {
    /// Serializes a string.
    ///
    /// ```
    /// assert_eq!(couplet_core::JsonText::string("a\"b").as_str(), r#""a\"b""#);
    /// ```
    pub fn string(text: &str) -> Self {
        Self::trusted(crate::wire::to_json(text).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &'static str) -> Params {
        Params::from_text(JsonText::new(text).unwrap()).unwrap()
    }

    fn text(of: &str) -> JsonText {
        JsonText::new(of.to_owned()).unwrap()
    }

    #[test]
    fn a_member_is_replaced_where_it_stands() {
        let all = params(r#"{ "a" : 1.50 , "name":"long name" ,"_meta":{"k":[1 ,2]}, "z":{} }"#);
        for (value, whole) in [
            (r#""x""#, r#"{ "a" : 1.50 , "name":"x" ,"_meta":{"k":[1 ,2]}, "z":{} }"#),
            (
                r#""a much longer name""#,
                r#"{ "a" : 1.50 , "name":"a much longer name" ,"_meta":{"k":[1 ,2]}, "z":{} }"#,
            ),
        ] {
            let new = all.with("name", &text(value)).unwrap();
            assert_eq!(new.text().as_str(), whole);
            let again = Params::from_text(new.text().clone()).unwrap();
            for key in ["a", "name", "_meta", "z", "missing"] {
                assert_eq!(new.get(key), again.get(key), "{key}");
            }
            assert_eq!(new.valid_meta().unwrap().get("k"), again.valid_meta().unwrap().get("k"));
        }
    }

    #[test]
    fn a_member_is_added_and_removed() {
        let all = params(r#"{"a":1}"#);
        assert_eq!(all.with("b", &text("2")).unwrap().text().as_str(), r#"{"a":1,"b":2}"#);
        assert_eq!(params("{}").with("b", &text("2")).unwrap().text().as_str(), r#"{"b":2}"#);
        assert_eq!(all.without("a").unwrap().text().as_str(), "{}");
        assert_eq!(all.without("b").unwrap().text().as_str(), r#"{"a":1}"#);
        let meta = all.with("_meta", &text(r#"{"k":1}"#)).unwrap();
        assert_eq!(meta.with("_meta", &text(r#"{"k":2}"#)).unwrap().valid_meta().unwrap().get("k"), Some(text("2")));
    }
}
