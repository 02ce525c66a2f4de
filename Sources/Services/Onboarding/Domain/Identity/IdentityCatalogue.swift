/// The sixty fields that are known of a person (4.7).
public enum IdentityCatalogue {
  /// What a model concludes: the profile.
  public static let profile = [
    "current_identity", "aspirated_identity", "fear_identity", "core_struggle", "primary_excuse", "sabotage_method",
    "weakness_time_window", "procrastination_focus", "last_major_failure", "past_success_story", "accountability_trigger",
  ]
  /// What a model concludes: what moves the person.
  public static let leverage = [
    "shame_trigger", "financial_pain_point", "relationship_damage_specific", "breaking_point_event", "self_sabotage_pattern",
    "accountability_history", "current_self_summary", "aspirational_identity_gap", "non_negotiable_commitment",
    "war_cry_or_death_vision",
  ]
  /// What a model concludes: the mirror.
  public static let mirror = ["current_struggle", "nightmare_self", "empty_excuse", "success_legacy", "betrayal_cost"]

  /// All that a model concludes.
  public static let concluded = profile + leverage + mirror

  /// All of them: what is answered, in the order of the steps, and what is concluded.
  public static func all(_ steps: StepCatalogues) -> [String] { steps.fields + concluded }

  /// Those of them that are known, in their order. An app may keep an answer under names of its own; they are nobody's field.
  ///
  /// - Parameters:
  ///   - known: What is known, by name.
  ///   - steps: What the steps are about.
  public static func known<Fact>(_ known: [String: Fact], _ steps: StepCatalogues) -> [Fact] {
    all(steps).compactMap { known[$0] }
  }
}
