//! Decides which English words carry grammar and no topic.
//!
//! Closed classes only: a list that reaches into nouns, verbs or adjectives decides what the topics are.

use std::collections::HashSet;

use super::options::StopWords;

const ENGLISH: [&str; 7] = [
    // Articles, demonstratives and quantifiers.
    "a an the this that these those some any no every each either neither both all few fewer \
     less least many more most much several such other others another same own enough",
    // Pronouns.
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers \
     herself it its itself we us our ours ourselves they them their theirs themselves one \
     ones oneself who whom whose which what whoever whatever whichever someone somebody \
     something anyone anybody anything everyone everybody everything nobody none nothing",
    // Prepositions.
    "about above across after against along among amongst around as at before behind below \
     beneath beside besides between beyond by despite down during except for from in inside \
     into like near of off on onto out outside over past per since through throughout till to \
     toward towards under until up upon via with within without",
    // Conjunctions and question words.
    "and or nor but yet so if unless because although though while whereas whether than when \
     whenever where wherever why how however therefore thus hence moreover",
    // Auxiliaries.
    "am is are was were be been being have has had having do does did done doing will would \
     shall should can could may might must ought cannot",
    // Adverbs of place, time and degree that stand in for others.
    "not very too also just only even quite rather almost already always ever never often \
     again further here there now then once still else well perhaps etc",
    // Contractions.
    "i'm i've i'll i'd you're you've you'll you'd he's he'll he'd she's she'll she'd it's \
     it'll it'd we're we've we'll we'd they're they've they'll they'd that's that'll that'd \
     there's there'll here's who's who'll who'd what's what're where's when's why's how's \
     let's isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't won't \
     wouldn't shan't shouldn't can't couldn't mayn't mightn't mustn't needn't oughtn't ain't \
     could've should've would've might've must've",
];

fn english() -> impl Iterator<Item = &'static str> {
    let groups = ENGLISH.iter();
    groups.flat_map(|words| words.split_ascii_whitespace())
}

/// A set of words to drop.
pub(super) struct StopSet {
    /// What the list is called.
    pub(super) name: &'static str,
    words: HashSet<String>,
}

impl StopSet {
    /// What a list of this name is called.
    pub(super) fn list(name: &str) -> Option<&'static str> {
        ["english", "list"].into_iter().find(|list| *list == name)
    }

    /// `None` where nothing is to be dropped.
    pub(super) fn new(stop_words: &StopWords, text: bool) -> Option<StopSet> {
        match stop_words {
            StopWords::None => None,
            StopWords::Auto if !text => None,
            StopWords::Auto | StopWords::English => Some(StopSet {
                name: "english",
                words: english().map(str::to_owned).collect(),
            }),
            StopWords::List(list) => Some(StopSet {
                name: "list",
                words: list.iter().map(|word| plain(word)).collect(),
            }),
        }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.words.contains(&plain(word))
    }
}

/// In lower case and with straight apostrophes.
fn plain(word: &str) -> String {
    word.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_plain_and_each_word_stands_once() {
        let all: Vec<&str> = english().collect();
        let unique: HashSet<&str> = all.iter().copied().collect();
        assert_eq!(unique.len(), all.len());
        assert!(all.iter().all(|word| *word == plain(word)));
        assert!((200..400).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn case_and_apostrophes_are_alike() {
        let english = StopSet::new(&StopWords::Auto, true).unwrap();
        assert!(
            ["The", "don't", "Don’t", "of"]
                .iter()
                .all(|word| english.contains(word))
        );
        assert!(!english.contains("topic"));
        assert!(StopSet::new(&StopWords::Auto, false).is_none());
        let list = StopSet::new(&StopWords::List(vec!["L’Été".into()]), false).unwrap();
        assert!(list.contains("l'été") && !list.contains("the"));
    }
}
