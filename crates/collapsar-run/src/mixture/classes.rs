//! What components are called: by the classes of known labels, or by their numbers.

/// The names of the first components; the others have none.
#[derive(Debug, Clone, Copy)]
pub struct ClassNames<'a>(pub &'a [String]);

impl ClassNames<'_> {
    /// What a component is called: its class, or its number from 0. A class that is called a number is told from those.
    pub fn of(self, component: usize) -> String {
        match self.0.get(component) {
            Some(name) if name.parse::<f64>().is_ok() => format!("class {name}"),
            Some(name) => name.clone(),
            None => component.to_string(),
        }
    }

    /// The name of a component's class as it is in the data; empty where it is none.
    pub fn class(self, component: usize) -> String {
        self.0.get(component).cloned().unwrap_or_default()
    }

    /// Whether there are classes.
    pub fn any(self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_numbers_are_told_apart() {
        let names = ["setosa".to_owned(), "1".to_owned()];
        let names = ClassNames(&names);
        assert_eq!([0, 1, 2].map(|k| names.of(k)), ["setosa", "class 1", "2"]);
        assert_eq!([1, 2].map(|k| names.class(k)), ["1", ""]);
        assert!(names.any() && !ClassNames(&[]).any());
    }
}
