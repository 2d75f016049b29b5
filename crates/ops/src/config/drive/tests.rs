//! Every source of the drive settings, and every way to get them wrong.

use std::collections::BTreeMap;

use super::*;

fn resolve(
    agent: Option<&AgentConfig>,
    flags: DriveFlags,
    variables: &[(&str, &str)],
) -> (DriveSettings, Vec<String>) {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    DriveSettings::resolve(agent, flags, &|name| variables.get(name).map(|v| (*v).to_owned()))
}

fn agent(enabled: Option<bool>) -> AgentConfig {
    AgentConfig { todo_driven_execution: enabled, ..AgentConfig::default() }
}

const OURS: &str = ENABLED_VARIABLES[0];
const SEEDS: &str = ENABLED_VARIABLES[1];

/// S-4, Q-S2: off for an agent without configuration, and by default.
#[test]
fn driving_is_off_by_default() {
    let expected = DriveSettings {
        enabled: false,
        enabled_by: Source::Default,
        max_continuations: 10,
        max_continuations_by: Source::Default,
        check_interval_ms: 0,
        check_interval_ms_by: Source::Default,
        max_iterations: 50,
        max_iterations_by: Source::Default,
        max_tokens: None,
        max_tokens_by: Source::Default,
    };
    for about in [None, Some(&AgentConfig::default())] {
        assert_eq!(resolve(about, DriveFlags::default(), &[]), (expected, Vec::new()));
    }
    let (settings, _) = resolve(Some(&agent(Some(true))), DriveFlags::default(), &[]);
    assert_eq!((settings.enabled, settings.enabled_by), (true, Source::Agent));
    let (settings, _) = resolve(Some(&agent(Some(false))), DriveFlags::default(), &[]);
    assert_eq!((settings.enabled, settings.enabled_by), (false, Source::Agent));
}

/// F-13, S-5: flag, environment, agent, default; each may be on, off or absent.
#[test]
fn every_source_can_switch_it_on_or_off_and_the_first_one_wins() {
    let positions = [None, Some(true), Some(false)];
    for flag in positions {
        for environment in positions {
            for configured in positions {
                let flags = DriveFlags { auto_complete_todos: flag, ..DriveFlags::default() };
                let said = environment.map(|on| (OURS, if on { "true" } else { "false" }));
                let variables: Vec<_> = said.into_iter().collect();
                let about = agent(configured);
                let (settings, notes) = resolve(Some(&about), flags, &variables);
                let expected = flag
                    .map(|on| (on, Source::Flag))
                    .or(environment.map(|on| (on, Source::Environment(OURS))))
                    .or(configured.map(|on| (on, Source::Agent)))
                    .unwrap_or((false, Source::Default));
                let found = (settings.enabled, settings.enabled_by);
                assert_eq!(found, expected, "{flag:?} {environment:?} {configured:?}");
                assert_eq!(notes, Vec::<String>::new());
            }
        }
    }
}

/// S-5, F-13: the seed's variable names work, ours take precedence, and `false` switches off.
#[test]
fn the_environment_has_two_names_for_each_setting() {
    let on = agent(Some(true));
    for (variables, expected, by) in [
        (&[(SEEDS, "true")][..], true, Source::Environment(SEEDS)),
        (&[(SEEDS, "false")], false, Source::Environment(SEEDS)),
        (&[(OURS, "off"), (SEEDS, "true")], false, Source::Environment(OURS)),
        (&[(OURS, "ON"), (SEEDS, "0")], true, Source::Environment(OURS)),
        (&[(OURS, " 1 ")], true, Source::Environment(OURS)),
        (&[(OURS, "0")], false, Source::Environment(OURS)),
        (&[(OURS, ""), (SEEDS, "")], true, Source::Agent),
    ] {
        let (settings, notes) = resolve(Some(&on), DriveFlags::default(), variables);
        assert_eq!((settings.enabled, settings.enabled_by), (expected, by), "{variables:?}");
        assert_eq!(notes, Vec::<String>::new(), "{variables:?}");
    }
    let [ours, seeds] = CONTINUATIONS_VARIABLES;
    for (variables, expected, by) in [
        (&[(seeds, "15")][..], 15, Source::Environment(seeds)),
        (&[(ours, "3"), (seeds, "15")], 3, Source::Environment(ours)),
        (&[(ours, "1000")], 1000, Source::Environment(ours)),
    ] {
        let (settings, _) = resolve(None, DriveFlags::default(), variables);
        assert_eq!((settings.max_continuations, settings.max_continuations_by), (expected, by));
    }
}

/// S-8: a malformed value is ignored with a warning.
#[test]
fn a_malformed_value_is_ignored_with_a_warning() {
    let on = agent(Some(true));
    for text in ["yes", "2", "-1", "truee", "tru"] {
        let (settings, notes) = resolve(Some(&on), DriveFlags::default(), &[(OURS, text)]);
        assert_eq!((settings.enabled, settings.enabled_by), (true, Source::Agent), "{text}");
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains(OURS) && note.contains(text) && note.contains("on, off"), "{note}");
    }
    let [ours, seeds] = CONTINUATIONS_VARIABLES;
    for text in ["-5", "many", "1.5", "1001", "99999999999", "+3", "0x10"] {
        let (settings, notes) = resolve(None, DriveFlags::default(), &[(ours, text)]);
        assert_eq!(
            (settings.max_continuations, settings.max_continuations_by),
            (10, Source::Default)
        );
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains(ours) && note.contains("0 to 1000"), "{note}");
        // The next valid value is used.
        let both = [(ours, text), (seeds, "7")];
        let (settings, _) = resolve(None, DriveFlags::default(), &both);
        assert_eq!(settings.max_continuations_by, Source::Environment(seeds), "{text}");
    }
}

/// 0 means none, and no value means unlimited.
#[test]
fn no_value_means_unlimited() {
    let none = AgentConfig { max_todo_continuations: Some(0), ..AgentConfig::default() };
    let (settings, _) = resolve(Some(&none), DriveFlags::default(), &[]);
    assert_eq!(settings.max_continuations, 0);
    let (settings, _) = resolve(None, DriveFlags::default(), &[(CONTINUATIONS_VARIABLES[0], "0")]);
    assert_eq!(settings.max_continuations, 0);
    let flags = DriveFlags { max_todo_continuations: Some(0), ..DriveFlags::default() };
    let ten = AgentConfig { max_todo_continuations: Some(10), ..AgentConfig::default() };
    let (settings, _) = resolve(Some(&ten), flags, &[]);
    assert_eq!((settings.max_continuations, settings.max_continuations_by), (0, Source::Flag));
    let flags = DriveFlags { max_todo_continuations: Some(u32::MAX), ..DriveFlags::default() };
    assert_eq!(resolve(None, flags, &[]).0.max_continuations, MAX_CONTINUATIONS_LIMIT);
    let wild = AgentConfig { max_iterations: Some(u32::MAX), ..AgentConfig::default() };
    assert_eq!(resolve(Some(&wild), DriveFlags::default(), &[]).0.max_iterations, 50);
}
